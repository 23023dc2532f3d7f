"""What Prometheus reads at `/metrics`; each service counts for itself."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, Gauge
from prometheus_fastapi_instrumentator import Instrumentator, metrics

from course_lib.service.database import Database
from course_lib.service.encoding import Encoder


def add_metrics(app: FastAPI) -> CollectorRegistry:
    """Count an app's requests by route and status, and add `/metrics`.

    A client writes its method and its path: the first is not counted, the second only as the route
    that it leads to.
    """
    registry = CollectorRegistry()
    Instrumentator(should_group_status_codes=False, registry=registry).add(
        metrics.requests(should_include_method=False, registry=registry),
        metrics.latency(
            should_include_method=False, should_include_status=False, registry=registry
        ),
    ).instrument(app).expose(app, tags=["operation"], response_class=PlainTextResponse)
    return registry


def watch(registry: CollectorRegistry, encoder: Encoder, database: Database) -> None:
    """Report the state of the encoder and of the pool as well, read when Prometheus asks."""
    figures = {
        "course_encoded_texts": ("Texts encoded since the start", lambda: encoder.texts),
        "course_encoded_batches": ("Batches they went in", lambda: encoder.batches),
        "course_waiting_texts": ("Texts that wait to be encoded", lambda: encoder.waiting),
        "course_requests_waiting": ("Requests that wait to read", lambda: database.waiting),
    }
    for name in ("pool_size", "pool_available"):
        figures[f"course_{name}"] = (f"psycopg_pool's {name}", partial(database.figure, name))
    for name, (text, read) in figures.items():
        Gauge(name, text, registry=registry).set_function(read)
