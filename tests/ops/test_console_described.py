"""The description of the console's calls, and random requests by HTTP that check it."""

from collections.abc import Iterator
from typing import Any, get_type_hints

import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode, checks
from schemathesis.specs.openapi import checks as of_openapi

from sluice.ops.console.calls.routes import ROUTES
from sluice.ops.console.http_message import Response
from tests.ops.caller import Caller, console
from tests.ops.orders import drained, fatal, waiting
from tests.ops.typist import Typist
from tests.ops.weeks import APPS as TABLES

SCHEDULES = {"schedules": [{"id": "nightly", "app": "fetch", "cron": "0 2 * * *", "key": "20261120_oslo"}]}
#: The stream of events, which does not end.
STREAM = "/api/events"
#: Calls that change nothing with random names, because no object has such a name.
HARMLESS = {
    ("POST", path)
    for path in (
        "/api/session",
        "/api/submissions",
        "/api/submissions/{id}/cancel",
        "/api/submissions/{id}/pause",
        "/api/submissions/{id}/resume",
        "/api/jobs/{app}/{key}/cancel",
        "/api/jobs/{app}/{key}/retry",
        "/api/jobs/{app}/{key}/resume",
        "/api/jobs/{app}/{key}/archive",
        "/api/jobs/cancel",
        "/api/jobs/retry",
        "/api/jobs/archive",
        "/api/sagas/{app}/{key}/force-done",
        "/api/sagas/{app}/{key}/retry-undo",
        "/api/schedules/{id}/pause",
        "/api/schedules/{id}/resume",
        "/api/schedules/{id}/fire",
        "/api/partitions/{table}/land",
        "/api/apps/{app}/pause",
        "/api/apps/{app}/resume",
    )
}
CHECKS = [
    checks.not_a_server_error,
    of_openapi.status_code_conformance,
    of_openapi.content_type_conformance,
    of_openapi.response_headers_conformance,
    of_openapi.response_schema_conformance,
    of_openapi.negative_data_rejection,
]


@pytest.fixture(scope="module")
def caller(orders: Typist) -> Iterator[Caller]:
    """Yield a console on a ledger with data of every kind."""
    orders.apps("tables.json", TABLES)
    orders.apps("times.json", SCHEDULES)
    orders.environment["SLUICE_APPS"] = "orders.py,apps.json,tables.json,times.json"
    orders.asks("submit", "publish", "2026-11-20", "--id", "first", "--user", "ana")
    waiting(orders, "41")
    orders.asks("partitions", "land", "events", "2024-04-01..2024-04-07")
    orders.asks("submit", "joined", "--start", "2024-04-01", "--end", "2024-04-02", "--id", "days")
    fatal(orders, "42")
    drained(orders)
    with orders.starts("up", "--no-console"), console(orders) as caller:
        yield caller


@pytest.fixture(scope="module")
def description(caller: Caller) -> Any:
    return caller.reads("/api/openapi.json")


def test_each_call_is_described(description: Any) -> None:
    assert description["openapi"] == "3.1.0"
    described = {(method.upper(), path) for path, calls in description["paths"].items() for method in calls}
    assert described == {(route.method, route.path) for route in ROUTES}
    operations = [call for calls in description["paths"].values() for call in calls.values()]
    assert len({each["operationId"] for each in operations}) == len(operations)
    assert all(
        each["summary"] and {"400", "401", "403", "404"} <= each["responses"].keys() for each in operations
    )
    assert all("requestBody" in calls["post"] for calls in description["paths"].values() if "post" in calls)


def test_each_call_returns_the_type_that_describes_it() -> None:
    for route in ROUTES:
        returned = get_type_hints(route.call)["return"]
        assert returned in (route.answers, Response), (route.method, route.path)


@pytest.mark.parametrize(
    "path",
    [
        "/api/session",
        "/api/overview",
        "/api/graph",
        "/api/apps",
        "/api/apps/order",
        "/api/apps/grouped",
        "/api/apps/fetch",
        "/api/jobs?limit=500",
        "/api/jobs/publish/2026-11-20",
        "/api/jobs/order/41",
        "/api/jobs/order/42",
        "/api/jobs/staging/2024-04-01",
        "/api/jobs/publish/2026-11-20/why",
        "/api/jobs/publish/2026-11-20/graph",
        "/api/jobs/joined/2024-04-01/graph",
        "/api/jobs/order/42/saga",
        "/api/submissions",
        "/api/submissions/first",
        "/api/partitions",
        "/api/partitions/grid",
        "/api/partitions/cell?table=joined&partition=2024-04-01",
        "/api/schedules",
        "/api/sagas",
        "/api/workers",
        "/api/audit",
    ],
)
def test_each_answer_has_exactly_the_described_fields(path: str, caller: Caller) -> None:
    words = path.partition("?")[0].strip("/").split("/")
    route = next(each for each in ROUTES if each.method == "GET" and each.given(words) is not None)
    told = caller.gets(path)
    assert told.status == 200, told
    found = msgspec.json.decode(told.body, type=route.answers)
    assert msgspec.json.decode(msgspec.json.encode(found)) == told.document


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_random_requests_are_answered_as_described(
    mode: GenerationMode, caller: Caller, description: Any
) -> None:
    schema = schemathesis.openapi.from_dict(description)
    schema.config.update(base_url=f"http://127.0.0.1:{caller.port}")
    for found in schema.get_all_operations():
        operation = found.ok()
        name = (operation.method.upper(), operation.path)
        if operation.path != STREAM and (name[0] == "GET" or name in HARMLESS):
            _asked_at_random(operation, mode)


def _asked_at_random(operation: Any, mode: GenerationMode) -> None:
    @seed(1)
    @settings(max_examples=10, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        case.validate_response(case.call(), checks=CHECKS)

    try:
        ask()
    except Unsatisfiable:
        return  # The call has no arguments that could be wrong.
