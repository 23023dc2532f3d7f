"""What Prometheus reads at `/metrics`; each service counts for itself."""

from __future__ import annotations

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from course_lib.service.database import POOL_STATS, Database
from course_lib.service.encoding import Encoder

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Metrics:
    """The counters of one service.

    Attributes
    ----------
    in_flight
        Requests that are being answered.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "course_requests",
            "Requests that were answered",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "course_request_seconds",
            "Seconds from the request's head to the answer's",
            ("route",),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.in_flight = self._gauge(
            "course_requests_in_flight", "Requests that are being answered"
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answered request."""
        method = method if method in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def watch(self, encoder: Encoder, database: Database) -> None:
        """Report the state of the encoder and of the pool as well, read when Prometheus asks."""
        texts = self._gauge("course_encoded_texts", "Texts encoded since the start")
        texts.set_function(lambda: encoder.texts)
        batches = self._gauge("course_encoded_batches", "Batches they went in")
        batches.set_function(lambda: encoder.batches)
        for name in POOL_STATS:
            figure = self._gauge(f"course_pool_{name}", f"psycopg_pool's {name}")
            figure.set_function(partial(database.figure, name))

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self.registry)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
