#!/usr/bin/env bash
# Releases a model: moves the champion alias, watches for half an hour, and goes back on an alarm.
set -euo pipefail

REGISTRY=${HERON_REGISTRY:-http://model-registry.heron-registry.svc:8080}
NAMESPACE=${HERON_NAMESPACE:-heron-prod}
WATCH_MINUTES=30
ERROR_LIMIT=0.01

alias_version() {
    curl --fail --silent --show-error "$REGISTRY/models/$1/aliases/$2" | jq --raw-output .version
}

# The registry refuses to move an alias that somebody else has moved since we looked.
move_alias() {
    local model=$1 name=$2 version=$3 expected=$4
    curl --fail --silent --show-error --request PUT \
        --header 'Content-Type: application/json' \
        --data "{\"version\": $version, \"expected\": $expected}" \
        "$REGISTRY/models/$model/aliases/$name"
}

error_rate() {
    kubectl -n "$NAMESPACE" exec deploy/forecast-api -c metrics-exporter -- \
        heron-stats --window 5m --field error_rate
}

above_limit() {
    awk -v rate="$1" -v limit="$ERROR_LIMIT" 'BEGIN { exit !(rate > limit) }'
}

watch_release() {
    local minute rate
    for ((minute = 1; minute <= WATCH_MINUTES; minute++)); do
        sleep 60
        rate=$(error_rate)
        if above_limit "$rate"; then
            echo "minute $minute: error rate $rate, going back" >&2
            return 1
        fi
    done
}

rollback() {
    local model=$1 previous=$2 current=$3
    move_alias "$model" champion "$previous" "$current"
    kubectl -n "$NAMESPACE" rollout restart deployment/forecast-api
    kubectl -n "$NAMESPACE" rollout status deployment/forecast-api --timeout=5m
}

if (($# != 2)); then
    echo "usage: release.sh MODEL VERSION" >&2
    exit 64
fi

model=$1
version=$2
previous=$(alias_version "$model" champion)

move_alias "$model" champion "$version" "$previous"
kubectl -n "$NAMESPACE" rollout restart deployment/forecast-api
kubectl -n "$NAMESPACE" rollout status deployment/forecast-api --timeout=10m

if ! watch_release; then
    rollback "$model" "$previous" "$version"
    exit 1
fi
echo "version $version of $model is champion"
