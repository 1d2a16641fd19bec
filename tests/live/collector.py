"""Collector of traces: receives OTLP over HTTP, and keeps the spans."""

import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.live.receiver import Post, receiving


class Seen(NamedTuple):
    """One span as it was received."""

    name: str
    trace: str
    span: str
    parent: str
    links: tuple[str, ...]
    attributes: dict[str, Any]
    failed: bool
    service: str
    pid: int


class Collector:
    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []
        self.url = ""

    def take(self, post: Post) -> HTTPStatus:
        if post.path != "/v1/traces":
            return HTTPStatus.NOT_FOUND
        self.headers.append(post.headers)
        packed = post.headers.get("content-encoding") == "gzip"
        self.bodies.append(gzip.decompress(post.body) if packed else post.body)
        return HTTPStatus.OK

    def spans(self) -> list[Seen]:
        """Return the spans. Spans with the same id are one: a notification may be delivered twice."""
        seen = {span.span: span for body in list(self.bodies) for span in _read(body)}
        return list(seen.values())

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.spans() if span.name == name]


@contextmanager
def collecting() -> Iterator[Collector]:
    made = Collector()
    with receiving(made.take) as made.url:
        yield made


def _read(body: bytes) -> Iterator[Seen]:
    for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        resource = _attributes(of_resource.resource.attributes)
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                yield Seen(
                    name=span.name,
                    trace=span.trace_id.hex(),
                    span=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    links=tuple(link.span_id.hex() for link in span.links),
                    attributes=_attributes(span.attributes),
                    failed=span.status.code == span.status.STATUS_CODE_ERROR,
                    service=resource["service.name"],
                    pid=resource.get("process.pid", 0),
                )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}
