#!/bin/sh
# Makes a small cluster on a laptop and installs the development overlay. POSIX sh: no arrays, no [[.
set -eu

CLUSTER=heron-dev
CONFIG=$(mktemp)
trap 'rm -f "$CONFIG"' EXIT

need() {
    command -v "$1" >/dev/null 2>&1 || {
        echo "$1 is not installed: see the README" >&2
        exit 127
    }
}

for tool in kind kubectl docker; do
    need "$tool"
done

# Port 8080 of the laptop leads to the ingress of the cluster.
cat >"$CONFIG" <<EOF
kind: Cluster
apiVersion: kind.x-k8s.io/v1alpha4
name: $CLUSTER

nodes:
  - role: control-plane
    extraPortMappings:
      - containerPort: 80
        hostPort: 8080

  - role: worker
    labels:
      heron.example.com/accelerator: none
EOF

if ! kind get clusters | grep -qx "$CLUSTER"; then
    kind create cluster --config "$CONFIG" --wait 120s
fi

# Images that were built here are copied into the nodes; nothing is pushed to a registry.
load_images() {
    for image in forecast-api trainer model-fetcher; do
        docker image inspect "registry.example.com/heron/$image:main" >/dev/null 2>&1 || continue
        kind load docker-image --name "$CLUSTER" "registry.example.com/heron/$image:main"
    done
}

wait_for_pods() {
    kubectl -n heron-dev wait --for=condition=Available deployment --all --timeout=300s
}

load_images
kubectl apply -k platform/overlays/dev
wait_for_pods

echo "forecasts: curl -H 'Host: forecast.heron.example.com' http://localhost:8080/v1/forecast"
