"""Kinds in words that people use: a manifest says NetworkPolicy, and people ask for a firewall.

The words are in the header of each piece of a resource, so that a search by meaning and one by
words find them. They say what a kind is for, as its API's reference does, in other words; kinds
that are not here have none.

Source: the references of Kubernetes (kubernetes.io/docs/reference/kubernetes-api), Istio,
Prometheus Operator and cert-manager.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_PROGRAM = "runs a program in containers"
_RIGHTS = "permissions: what may be read or changed"
_WHO = "who gets which permissions"
_SIGNS = "who signs certificates"
_METRICS = "metrics to collect, Prometheus"

KIND_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "Deployment": _PROGRAM,
        "StatefulSet": "runs a program that keeps data",
        "DaemonSet": "runs on every node",
        "Job": "a task that runs once",
        "CronJob": "a task that runs on a schedule",
        "Pod": "containers that run together",
        "Service": "network address and ports of a program",
        "ConfigMap": "settings, configuration",
        "Secret": "passwords, keys, credentials",
        "ServiceAccount": "account of a program",
        "Role": _RIGHTS,
        "ClusterRole": _RIGHTS,
        "RoleBinding": _WHO,
        "ClusterRoleBinding": _WHO,
        "NetworkPolicy": "firewall: who may connect to which pods",
        "Ingress": "way in from outside, host names",
        "Gateway": "way in from outside, host names, TLS",
        "VirtualService": "routes web addresses, URL prefix",
        "AuthorizationPolicy": "who may call which program in the service mesh",
        "RequestAuthentication": "accepted login tokens, JWT",
        "PeerAuthentication": "encryption between programs, mutual TLS",
        "DestinationRule": "how a program is connected to, TLS",
        "Sidecar": "what a proxy sees of the mesh",
        "PersistentVolumeClaim": "disk, storage size",
        "StorageClass": "kind of disk",
        "HorizontalPodAutoscaler": "scales the number of copies by load",
        "PodDisruptionBudget": "how many copies stay up during maintenance",
        "LimitRange": "default limits of memory and CPU",
        "ResourceQuota": "limits of a namespace",
        "PriorityClass": "what is more important",
        "MutatingWebhookConfiguration": "changes objects when they are created",
        "ValidatingWebhookConfiguration": "checks and rejects objects when they are created",
        "CustomResourceDefinition": "defines a new kind of object",
        "Certificate": "TLS certificate",
        "Issuer": _SIGNS,
        "ClusterIssuer": _SIGNS,
        "ServiceMonitor": _METRICS,
        "PodMonitor": _METRICS,
        "Kustomization": "which files are put together, patches, images",
    }
)
"""Kind → what it is for."""
