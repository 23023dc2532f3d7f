#!/usr/bin/env bash
# Kubeflow Pipelines and the retrieval API in a Kubernetes cluster on this machine (kind, in Docker).
# Run it again whenever something failed or changed: what is done stays done. It works in the cluster
# rag-kubeflow alone, whatever kubectl's current context is. Bash 3.2, which macOS has, is enough.
set -euo pipefail

readonly PIPELINE_VERSION=2.17.0
readonly KIND_VERSION=0.30
readonly CLUSTER=rag-kubeflow
readonly CONTEXT=kind-$CLUSTER
readonly MANIFESTS=github.com/kubeflow/pipelines/manifests/kustomize
# The repository is large, and kustomize gives up on a download after 27 s of its own accord.
readonly REFERENCE="ref=$PIPELINE_VERSION&timeout=300s"
readonly IMAGES="loader embedder retriever"
readonly NEEDED_GB=8
readonly NEEDED_CPUS=2
readonly NEEDED_DISK_GB=15
UI_PORT=${UI_PORT:-8080}
ENGINE=${ENGINE:-docker}

usage() {
    cat <<TEXT
usage: infra/setup-kubeflow.sh [up|images|ui|teardown] [options]

  up         create the cluster, install Kubeflow Pipelines $PIPELINE_VERSION, build and load the
             images, create the secrets, deploy, and show the UI (the default)
  images     only build the images, and load them into the cluster if there is one (make images)
  ui         only show the UI of Kubeflow Pipelines on http://localhost:$UI_PORT
  teardown   delete the cluster and everything in it

  --dry-run  print what would be done; run nothing
  --no-ui    end when everything runs, without showing the UI
  --force    go on although the machine seems too small
  --help     this text

Environment: UI_PORT (8080); GITHUB_TOKEN, for the pipelines that read GitHub; BUILD_OPTIONS, words for
docker build; for \`images\`, ENGINE (docker; podman and Docker Desktop were not tried).
TEXT
}

die() {
    printf '\nStopped: %s\n' "$1" >&2
    exit 1
}

step() {
    printf '\n== %s\n' "$*"
}

# Print a command, and run it unless this is a dry run: must "what to do when it fails" COMMAND…
must() {
    local advice=$1 code=0
    shift
    printf '   %s\n' "$(quoted "$@")"
    [[ $dry_run == yes ]] && return
    "$@" || code=$?
    ((code == 0)) || die "the last command ended with exit code $code. $advice"
}

# A command line that can be copied into a shell.
quoted() {
    local line="" word
    for word in "$@"; do
        case $word in
        *[!A-Za-z0-9_.,:/=@+-]*) line="$line '$word'" ;;
        *) line="$line $word" ;;
        esac
    done
    printf '%s' "${line# }"
}

# kubectl, in this cluster and no other.
cluster() {
    kubectl --context "$CONTEXT" "$@"
}

# Wait for a condition: await NAMESPACE WHAT…
await() {
    local namespace=$1
    shift
    must "See what is missing: kubectl --context $CONTEXT get pods --namespace $namespace" \
        kubectl --context "$CONTEXT" wait --namespace "$namespace" --timeout=900s "$@"
}

check_tools() {
    local missing="" tool
    for tool in "$@"; do
        command -v "$tool" >/dev/null || missing="$missing $tool"
    done
    [[ -z $missing ]] && return
    printf 'Not on PATH:%s\n' "$missing"
    for tool in $missing; do
        case $tool in
        podman) echo "   podman   https://podman.io/docs/installation" ;;
        docker) echo "   docker   https://docs.docker.com/get-docker/ (Docker Engine or Docker Desktop)" ;;
        kind) echo "   kind     https://kind.sigs.k8s.io/docs/user/quick-start/#installation ($KIND_VERSION)" ;;
        kubectl) echo "   kubectl  https://kubernetes.io/docs/tasks/tools/" ;;
        git) echo "   git      kubectl fetches Kubeflow's manifests with it" ;;
        esac
    done
    [[ $dry_run == yes ]] || die "install what is missing and run this again."
}

check_machine() {
    local memory cpus root free found
    if ! found=$(docker info --format '{{.MemTotal}} {{.NCPU}} {{.DockerRootDir}}' 2>&1); then
        printf '%s\n' "$found" >&2
        die "the Docker engine does not answer. Start it (Docker Desktop, or: sudo systemctl start docker)."
    fi
    read -r memory cpus root <<<"$(tail -n 1 <<<"$found")"
    [[ $memory =~ ^[0-9]+$ && $cpus =~ ^[0-9]+$ ]] || die "docker info gave no sizes, but: $found"
    too_small $(((memory + 500000000) / 1000000000)) $NEEDED_GB "GB of memory" \
        "Docker Desktop: Settings, Resources."
    too_small "$cpus" $NEEDED_CPUS "CPUs" "Docker Desktop: Settings, Resources."
    if [[ -d $root ]]; then
        free=$(df -Pk "$root" | awk 'NR == 2 { print int($4 / 1000000) }')
        too_small "$free" $NEEDED_DISK_GB "GB of free disk" "\`docker system prune\` frees some."
    fi
    found=$(kind version 2>&1) || die "kind does not run: $found"
    case $found in
    *" v$KIND_VERSION."*) ;;
    *) echo "Note: this was written for kind $KIND_VERSION, and here is: $found" ;;
    esac
}

# too_small FOUND NEEDED UNIT ADVICE
too_small() {
    (($1 >= $2)) && return
    local what="Docker has $1 $3, and this needs $2. $4"
    [[ $force == yes ]] || die "$what Or go on all the same: --force."
    echo "Note: $what Going on, because of --force."
}

# Whether kind knows the cluster.
there() {
    kind get clusters 2>/dev/null | grep -qx "$CLUSTER"
}

create_cluster() {
    if [[ $dry_run == no ]] && there; then
        echo "   $CLUSTER is there"
        must "Is it broken? infra/setup-kubeflow.sh teardown, and begin anew." \
            kind export kubeconfig --name "$CLUSTER"
    else
        must "Is port 8000 taken? Half a cluster is removed by: infra/setup-kubeflow.sh teardown" \
            kind create cluster --name "$CLUSTER" --config infra/kind-config.yaml
    fi
    must "Was the machine restarted? Start its node: docker start $CLUSTER-control-plane" \
        kubectl --context "$CONTEXT" wait --for=condition=Ready node --all --timeout=180s
}

install_kubeflow() {
    local network="Are GitHub and the container registries in reach? Then run this again."
    must "$network" kubectl --context "$CONTEXT" apply -k "$MANIFESTS/cluster-scoped-resources?$REFERENCE"
    # Definitions before what they define.
    await kubeflow --for=condition=Established crd --all
    must "$network" kubectl --context "$CONTEXT" apply -k "$MANIFESTS/env/platform-agnostic?$REFERENCE"
    await kubeflow --for=condition=Available deployment --all
    # Some versions prepare the artifact store in a job; `wait --all` fails where there is none.
    if [[ $dry_run == no && -n $(cluster get jobs --namespace kubeflow --output name) ]]; then
        await kubeflow --for=condition=Complete job --all
    fi
}

build_images() {
    local image
    for image in $IMAGES; do
        # shellcheck disable=SC2086  # each word is an option
        must "Does the network let pip through? The lines above tell." "$ENGINE" build ${BUILD_OPTIONS:-} \
            --file "infra/docker/$image.Dockerfile" --tag "rag-$image:$version" .
    done
}

load_images() {
    local names="" image
    for image in $IMAGES; do
        names="$names rag-$image:$version"
    done
    # shellcheck disable=SC2086  # one argument an image
    must "Is Docker's disk full? \`docker system df\` tells." \
        kind load docker-image $names --name "$CLUSTER"
}

show_sizes() {
    local image size
    for image in $IMAGES; do
        size=$("$ENGINE" image inspect --format '{{.Size}}' "rag-$image:$version") ||
            die "rag-$image:$version was built, and $ENGINE does not know it."
        printf '   rag-%-10s %s  %5d MB\n' "$image" "$version" $((size / 1000000))
    done
}

images() {
    check_tools "$ENGINE"
    if [[ $dry_run == no ]] && ! "$ENGINE" info >/dev/null 2>&1; then
        die "$ENGINE does not answer. Start it (Docker Desktop, or: sudo systemctl start docker)."
    fi
    step "The images, version $version"
    build_images
    [[ $dry_run == yes ]] || show_sizes
    if [[ $ENGINE == docker ]] && command -v kind >/dev/null && there; then
        step "Into the cluster $CLUSTER"
        load_images
    fi
}

# Print a value of a secret, or nothing: kept NAMESPACE NAME KEY
kept() {
    local value
    value=$(cluster get secret "$2" --namespace "$1" --ignore-not-found --output "jsonpath={.data.$3}") ||
        die "the secret $2 in $1 cannot be read. Run this again."
    base64 --decode <<<"$value"
}

random() {
    od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
}

# One secret of strings, as YAML: secret NAMESPACE NAME KEY VALUE [KEY VALUE]…
secret() {
    printf -- '---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: %s\n  namespace: %s\nstringData:\n' "$2" "$1"
    shift 2
    while (($#)); do
        printf '  %s: "%s"\n' "$1" "$2"
        shift 2
    done
}

create_secrets() {
    must "Run this again." kubectl --context "$CONTEXT" apply -f infra/k8s/base/namespace.yaml
    echo "   secrets rag-postgres and rag-database in rag, rag-database and rag-github in kubeflow"
    [[ $dry_run == yes ]] && return
    local admin owner token url
    # What is there stays: the database keeps the passwords that it was made with.
    admin=$(kept rag rag-postgres POSTGRES_PASSWORD)
    owner=$(kept rag rag-postgres RAG_PASSWORD)
    token=${GITHUB_TOKEN:-$(kept kubeflow rag-github GITHUB_TOKEN)}
    [[ $token =~ ^[A-Za-z0-9_.-]*$ ]] || die "GITHUB_TOKEN has characters that no token has."
    owner=${owner:-$(random)}
    url="postgresql://rag:$owner@rag-postgres.rag.svc.cluster.local:5432/rag"
    # Through a pipe: arguments can be read by every process of this machine. And by the server: kubectl
    # itself would leave a copy in an annotation.
    {
        secret rag rag-postgres POSTGRES_PASSWORD "${admin:-$(random)}" RAG_PASSWORD "$owner"
        secret rag rag-database DATABASE_URL "$url"
        secret kubeflow rag-database DATABASE_URL "$url"
        secret kubeflow rag-github GITHUB_TOKEN "$token"
    } | cluster apply --server-side --force-conflicts -f - || die "the secrets cannot be created."
}

deploy() {
    local before="" what
    [[ $dry_run == yes ]] ||
        before=$(cluster get deployment rag-retriever --namespace rag --ignore-not-found --output name)
    must "Run this again." kubectl --context "$CONTEXT" apply -k infra/k8s/overlays/kind
    # An image that was built anew has the old name: its pods have to be told.
    if [[ -n $before ]]; then
        must "Run this again." kubectl --context "$CONTEXT" rollout restart deployment/rag-retriever --namespace rag
    fi
    for what in statefulset/rag-postgres deployment/rag-retriever; do
        must "See why: kubectl --context $CONTEXT describe pods --namespace rag" \
            kubectl --context "$CONTEXT" rollout status "$what" --namespace rag --timeout=600s
    done
}

show_ui() {
    echo "   Kubeflow Pipelines: http://localhost:$UI_PORT (until Ctrl-C; again with: infra/setup-kubeflow.sh ui)"
    must "Is port $UI_PORT taken? Take another one: UI_PORT=8081 infra/setup-kubeflow.sh ui" \
        kubectl --context "$CONTEXT" port-forward --namespace kubeflow service/ml-pipeline-ui "$UI_PORT:80"
}

up() {
    step "This machine"
    check_tools docker kind kubectl git
    [[ $dry_run == yes ]] || check_machine
    step "The cluster $CLUSTER"
    create_cluster
    step "Kubeflow Pipelines $PIPELINE_VERSION (some minutes)"
    install_kubeflow
    step "The images, version $version"
    build_images
    load_images
    step "Secrets"
    create_secrets
    step "Database and retrieval API"
    deploy
    step "Ready"
    echo "   Retrieval API: http://localhost:8000 (a search page; /ready, /openapi.json)"
    echo "   A pipeline:    course pipeline submit --host http://localhost:$UI_PORT"
    [[ $ui == no ]] || show_ui
}

teardown() {
    step "Removing the cluster $CLUSTER"
    check_tools docker kind
    if [[ $dry_run == no ]] && ! there; then
        echo "   there is none"
        return
    fi
    must "Does the Docker engine run?" kind delete cluster --name "$CLUSTER"
    echo "   The images rag-*:$version stay in Docker; \`docker rmi\` removes them."
}

main() {
    local command="" argument
    dry_run=no ui=yes force=no
    for argument in "$@"; do
        case $argument in
        --dry-run) dry_run=yes ;;
        --no-ui) ui=no ;;
        --force) force=yes ;;
        -h | --help)
            usage
            return
            ;;
        up | images | ui | teardown)
            [[ -z $command ]] || die "one command at a time: $command or $argument."
            command=$argument
            ;;
        *)
            usage >&2
            printf '\nunknown: %s\n' "$argument" >&2
            exit 2
            ;;
        esac
    done
    cd "$(dirname "${BASH_SOURCE[0]}")/.."
    version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' course_lib/__init__.py)
    [[ -n $version ]] || die "course_lib/__init__.py has no __version__."
    [[ $dry_run == no ]] || echo "A dry run: nothing of this is run."
    case ${command:-up} in
    up)
        [[ $ENGINE == docker ]] || die "ENGINE is for \`images\` alone: kind takes them from Docker."
        up
        ;;
    images) images ;;
    ui)
        check_tools kubectl
        show_ui
        ;;
    teardown) teardown ;;
    esac
}

main "$@"
