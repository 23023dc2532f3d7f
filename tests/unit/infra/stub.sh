#!/usr/bin/env bash
# docker, kind, kubectl and git for the tests of setup-kubeflow.sh: linked under each of these names, it
# writes down what it is asked. What the script's next steps depend on, it does: clusters come and go,
# and secrets are kept. All is in the folder STUB: `log`, a call a line, quoted for a shell; `clusters`;
# `secrets/`; `fail`, a pattern (a call that it matches fails); `info`, what `docker info` says; `jobs`.
set -euo pipefail

name=${0##*/}
line="$name $*"
printf '%q ' "$name" "$@" >>"$STUB/log"
printf '\n' >>"$STUB/log"

if [[ -e $STUB/fail && $line =~ $(<"$STUB/fail") ]]; then
    echo "the stub was told to fail here" >&2
    exit 7
fi

case $line in
"docker image inspect"*) echo 555000000 ;;
"docker info"*) echo "$(<"$STUB/info")" ;;
"kind version"*) echo "kind v0.30.0 go1.24.6 linux/amd64" ;;
"kind get clusters"*) [[ ! -e $STUB/clusters ]] || echo "$(<"$STUB/clusters")" ;;
"kind create cluster"*) printf 'other\n%s\n' "$4" >"$STUB/clusters" ;;
"kind delete cluster"*) echo other >"$STUB/clusters" ;;
*" get jobs "*) [[ ! -e $STUB/jobs ]] || echo "$(<"$STUB/jobs")" ;;
*" get deployment "*) [[ ! -e $STUB/deployed ]] || echo deployment.apps/rag-retriever ;;
*/overlays/kind) : >"$STUB/deployed" ;;
*" get secret "*)
    # kubectl --context C get secret NAME --namespace NAMESPACE … jsonpath={.data.KEY}
    key=${line##*.}
    file=$STUB/secrets/$7/$5/${key%\}}
    [[ ! -e $file ]] || printf '%s' "$(<"$file")" | base64
    ;;
*" apply --server-side --force-conflicts -f -")
    : >"$STUB/applied.yaml"
    while IFS= read -r given; do
        printf '%s\n' "$given" >>"$STUB/applied.yaml"
        value=${given#*: }
        case $given in
        "  name: "*) secret=$value ;;
        "  namespace: "*)
            folder=$STUB/secrets/$value/$secret
            mkdir -p "$folder"
            ;;
        "  "*) printf '%s' "${value:1:${#value}-2}" >"$folder/$(cut -d : -f 1 <<<"${given// /}")" ;;
        esac
    done
    ;;
esac
