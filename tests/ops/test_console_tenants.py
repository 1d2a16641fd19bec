"""Tokens of a tenant: for each call of the console, a token of the tenant ``risk`` gets nothing of ``growth``.

Each app, key, submission, schedule, table and receiver of ``growth`` has ``growth`` in its name, so an answer without
that text has nothing of it.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest

from sluice.jobs.model.job import Ending
from sluice.ledger.database.connection import Tx
from sluice.ledger.notifications import deliveries
from sluice.ledger.notifications.deliveries import DeliveryAttempt
from sluice.ledger.reads.audit_log import acts
from sluice.ops.console.access import AccessControl
from sluice.ops.console.calls.routes import ROUTES
from sluice.ops.console.dispatch import Answering
from sluice.ops.console.http_message import Request, Response
from sluice.ops.console.identity.roles import Role
from sluice.ops.console.identity.sessions import digest_of
from sluice.ops.console.identity.token_file import AccessList, NamedToken
from sluice.ops.console.route import Route
from tests.ops.console_client import HERE, console_of
from tests.ops.site import Site

TENANTS = ("growth", "risk")
#: Partition of the tables, which exists for each tenant.
DAY = "2026-11-20"


def apps_of(tenant: str) -> dict[str, Any]:
    run = {"bash_cmd": "true", "tenant": tenant}
    return {
        f"{tenant}_load": run
        | {
            "job_id": "{x}",
            "archive": "manual",
            "notify": [{"on": ["failed"], "webhook": f"https://{tenant}.example.org/events"}],
        },
        f"{tenant}_mail": run | {"job_id": "{x}", "depends_on": {"app_name": [f"{tenant}_load"]}},
        f"{tenant}_table": run | {"partition": "day", "table_dependencies": [{"table": f"{tenant}_events"}]},
        f"{tenant}_sums": run | {"partition": "day", "table_dependencies": [{"table": f"{tenant}_table"}]},
    }


APPS = {name: app for tenant in TENANTS for name, app in apps_of(tenant).items()}
SCHEDULES = [
    {"id": f"{tenant}-nightly", "app": f"{tenant}_mail", "cron": "0 2 * * *", "key": "1"}
    for tenant in TENANTS
]

#: Requests for an object of the tenant in the place of T, by route: the words of the path, the query and the body. A
#: new route needs an entry here. None: the call is about no object, and its answer is compared as it is.
_JOB = {"app": "T_load", "key": "T-1"}
_WHERE = {"where": "app = T_load"}
REQUESTS: dict[str, tuple[dict[str, str], str, Any]] = {
    "GET /api/session": ({}, "", None),
    "POST /api/session": ({}, "", {"token": "secret of growth, which is wrong"}),
    "DELETE /api/session": ({}, "", None),
    "GET /api/overview": ({}, "", None),
    "GET /api/jobs": ({}, "limit=500", None),
    "GET /metrics": ({}, "", None),
    "GET /healthz": ({}, "", None),
    "GET /readyz": ({}, "", None),
    "GET /api/graph": ({}, "", None),
    "GET /api/apps": ({}, "", None),
    "GET /api/apps/{app}": (_JOB, "", None),
    "POST /api/apps/{app}/pause": (_JOB, "", {}),
    "POST /api/apps/{app}/resume": (_JOB, "", {}),
    "GET /api/jobs/{app}/{key}": (_JOB, "", None),
    "GET /api/jobs/{app}/{key}/why": (_JOB, "", None),
    "GET /api/jobs/{app}/{key}/graph": (_JOB, "", None),
    "GET /api/jobs/{app}/{key}/rounds/{claim}/{what}": ({**_JOB, "claim": "1", "what": "output"}, "", None),
    "GET /api/jobs/{app}/{key}/result": (_JOB, "", None),
    "GET /api/jobs/{app}/{key}/saga": (_JOB, "", None),
    "POST /api/jobs/{app}/{key}/resume": (_JOB, "", {"event": "approved"}),
    "POST /api/jobs/{app}/{key}/retry": (_JOB, "", {}),
    "POST /api/jobs/{app}/{key}/cancel": ({"app": "T_load", "key": "T-2"}, "", {}),
    "POST /api/jobs/{app}/{key}/archive": (_JOB, "", {}),
    "POST /api/jobs/retry": ({}, "", _WHERE),
    "POST /api/jobs/cancel": ({}, "", _WHERE),
    "POST /api/jobs/archive": ({}, "", _WHERE),
    "GET /api/submissions": ({}, "", None),
    "POST /api/submissions": ({}, "", {"app": "T_load", "key": "9"}),
    "GET /api/submissions/{id}": ({"id": "T-sub"}, "", None),
    "POST /api/submissions/{id}/retry": ({"id": "T-sub"}, "", {}),
    "POST /api/submissions/{id}/cancel": ({"id": "T-sub"}, "", {}),
    "POST /api/submissions/{id}/pause": ({"id": "T-sub"}, "", {}),
    "POST /api/submissions/{id}/resume": ({"id": "T-sub"}, "", {}),
    "GET /api/partitions": ({}, "", None),
    "GET /api/partitions/grid": ({}, f"from={DAY}&to={DAY}", None),
    "GET /api/partitions/cell": ({}, f"table=T_table&partition={DAY}", None),
    "POST /api/partitions/{table}/land": ({"table": "T_events"}, "", {"partitions": [DAY], "again": True}),
    "POST /api/partitions/restate": ({}, "", {"table": "T_events"}),
    "GET /api/schedules": ({}, "", None),
    "POST /api/schedules/{id}/pause": ({"id": "T-nightly"}, "", {}),
    "POST /api/schedules/{id}/resume": ({"id": "T-nightly"}, "", {}),
    "POST /api/schedules/{id}/fire": ({"id": "T-nightly"}, "", {}),
    "GET /api/sagas": ({}, "", None),
    "POST /api/sagas/{app}/{key}/force-done": (_JOB, "", {}),
    "POST /api/sagas/{app}/{key}/retry-undo": (_JOB, "", {}),
    "GET /api/notifications": ({}, "", None),
    "POST /api/notifications/retry": ({}, "", {"all": True}),
    "GET /api/workers": ({}, "", None),
    "GET /api/demand": ({}, "", None),
    "GET /api/audit": ({}, "", None),
    "GET /api/events": (
        {},
        "watch=overview&watch=schedules&watch=job:T_load/T-1&watch=submission:T-sub",
        None,
    ),
    "GET /api/openapi.json": ({}, "", None),
}
#: Calls about the whole installation, which a token of a tenant may not make.
WHOLE = {"GET /metrics", "GET /api/workers", "GET /api/demand", "GET /api/audit"}
#: Lists, by the last part of their path, that have something of each tenant.
LISTS = {
    *("jobs", "apps", "graph", "overview", "submissions", "schedules", "partitions", "events", "sagas"),
    "notifications",
}


def name_of(route: Route) -> str:
    return f"{route.method} {route.path}"


class TwoTenants:
    """Console on a ledger with jobs, submissions, schedules and tables of two tenants."""

    def __init__(self, site: Site) -> None:
        self.world = site.world
        site.define(APPS)
        times = site.folder / "times.json"
        times.write_text(json.dumps({"schedules": SCHEDULES}))
        for tenant in TENANTS:
            keys = [f"{tenant}-{number}" for number in (1, 2, 3)]
            self.world.submit(f"{tenant}_load", None, keys=keys, id=f"{tenant}-sub")
            self.world.finish(f"{tenant}_load/{tenant}-1", Ending.ERROR)
            site.world.land(f"{tenant}_events", DAY)
            self.world.submit(f"{tenant}_sums", None, start=DAY, end=DAY, id=f"{tenant}-days")
            for app in ("table", "sums"):
                version = self.world.catalogue[f"{tenant}_{app}"].version
                self.world.finish(f"{tenant}_{app}/{DAY}@{version}")
            self.world.land(f"{tenant}_events", DAY, again=True)
            # As the last job of a saga that is in progress.
            of_saga = "UPDATE job SET saga_open = true WHERE app = %(app)s AND key = %(key)s"
            self.world.ledger.transact(
                partial(Tx.write, sql=of_saga, app=f"{tenant}_load", key=f"{tenant}-3")
            )
        self._give_up_deliveries()
        tokens = {
            "whole": NamedToken(role=Role.OPERATE, sha256=digest_of("whole")),
            **{
                f"{role}-{tenant}": NamedToken(role=role, tenant=tenant, sha256=digest_of(f"{role}-{tenant}"))
                for role in Role
                for tenant in (*TENANTS, "other")
            },
        }
        gate = AccessControl(None, listed=lambda: AccessList(tokens=tokens))
        self.console: Answering = console_of(site.world, gate, str(site.folder / "apps.json"), str(times))

    def _give_up_deliveries(self) -> None:
        """Give up the delivery of the event of each tenant."""
        ledger = self.world.ledger
        ledger.transact(lambda tx: deliveries.route(tx, 100))
        taken = ledger.transact(lambda tx: deliveries.take(tx, 100, together=100, busy={}))
        self.world.now += timedelta(seconds=deliveries.GIVE_UP_S + 1)
        attempts = [DeliveryAttempt(delivery=each, error="404 Not Found") for each in taken]
        ledger.transact(lambda tx: deliveries.record(tx, attempts))

    def asks(self, token: str, route: str, of: str) -> tuple[Response, str]:
        """Send the request of this route about the object of a tenant, and return the answer and its text."""
        words, query, body = REQUESTS[route]
        query = query.replace("T_", f"{of}_").replace("T-", f"{of}-")
        method, _, path = route.partition(" ")
        for name, word in words.items():
            path = path.replace(f"{{{name}}}", quote(word.replace("T", of), safe=""))
        return self.sends(token, method, path, query, body=body, of=of)

    def sends(
        self, token: str, method: str, path: str, query: str = "", *, body: Any = None, of: str = ""
    ) -> tuple[Response, str]:
        sent = (
            b""
            if body is None
            else json.dumps(body).replace('"T_', f'"{of}_').replace(" T_", f" {of}_").encode()
        )
        headers = {**HERE, "authorization": f"Bearer {token}"}
        answer = self.console.answer(
            Request(method=method, path=path, query=query, headers=headers, body=sent, address="10.0.0.7")
        )
        return answer, self._text(answer)

    def rows(self, of: str) -> Any:
        """Return the rows of the ledger that an act on objects of this tenant would change."""
        dead = """
            SELECT delivery.number, dead_at FROM delivery JOIN notification ON notification.number = notification
            JOIN job ON job.id = notification.job WHERE app LIKE %(of)s ORDER BY delivery.number"""
        statements = (
            "SELECT app, key, state, round, archived_at FROM job WHERE app LIKE %(of)s ORDER BY id",
            "SELECT id, state, paused_at FROM submission WHERE app LIKE %(of)s ORDER BY number",
            "SELECT app FROM app_pause WHERE app LIKE %(of)s ORDER BY app",
            "SELECT id, paused_at FROM schedule WHERE app LIKE %(of)s ORDER BY id",
            dead,
        )
        return self.world.ledger.transact(lambda tx: [tx.rows(each, of=f"{of}%") for each in statements])

    @staticmethod
    def _text(answer: Response) -> str:
        if answer.pieces is None:
            return answer.body.decode()
        pieces = answer.pieces
        told = b""
        # The first piece is a header, and the lists follow when the ledger has been read.
        while told.count(b"event: ") < 2:
            told += next(pieces)
        pieces.close()
        return told.decode()


@pytest.fixture
def installed(site: Site) -> Iterator[TwoTenants]:
    installed = TwoTenants(site)
    yield installed
    installed.console._console.streams.close()


def test_each_route_has_a_decision_and_a_request_here() -> None:
    assert [name_of(route) for route in ROUTES if route.tenancy is None] == []
    assert {name_of(route) for route in ROUTES} == REQUESTS.keys()


def test_a_token_of_a_tenant_gets_and_changes_nothing_of_another(installed: TwoTenants) -> None:
    before = installed.rows("growth")
    for route in map(name_of, ROUTES):
        for token in ("operate-risk", "operate-other"):
            answer, text = installed.asks(token, route, "growth")
            assert "growth" not in text, (route, token, text)
            if route in WHOLE:
                assert answer.status == 403, (route, text)
            elif "{" in route or route in ("POST /api/submissions", "GET /api/partitions/cell"):
                assert answer.status == 404, (route, text)
            elif route == "GET /api/events":
                assert answer.status == 403, text
            elif route == "POST /api/session":
                assert answer.status == 401
            else:
                assert answer.status == 200, (route, text)
            assert installed.rows("growth") == before, (route, token)
    found = installed.world.ledger.transact(lambda tx: acts(tx, limit=100))
    assert [each.action for each in found] == ["notifications retry"], "of its own event"


def test_the_same_requests_reach_the_objects_with_a_token_for_them(installed: TwoTenants) -> None:
    """Otherwise the requests of the test above could fail for another reason than the tenant."""
    # The job has no result, has printed nothing, and is no saga.
    missing, silent = ("/result", "/saga"), "{what}"
    for token in ("whole", "operate-growth"):
        for route in map(name_of, ROUTES):
            if route.startswith("GET /api/"):
                answer, text = installed.asks(token, route, "growth")
                expected = (
                    404 if route.endswith(missing) else 403 if token != "whole" and route in WHOLE else 200
                )
                assert answer.status == expected, (route, token, text)
                has_words = "{" in route and expected == 200 and not route.endswith(silent)
                named = has_words or route.removeprefix("GET /api/") in LISTS
                assert ("growth" in text) >= named, (route, token, text)
    for route in map(name_of, ROUTES):
        if route.startswith("POST") and route != "POST /api/session":
            answer, text = installed.asks("operate-growth", route, "growth")
            assert answer.status not in (403, 404), (route, text)
    found = installed.world.ledger.transact(lambda tx: acts(tx, limit=100))
    assert {each.actor for each in found} == {"operate-growth from 10.0.0.7"}
    assert {each.action for each in found} >= {
        "submit",
        "retry",
        "cancel",
        "land",
        "restate",
        "schedules fire",
    }


def test_lists_and_selections_have_only_the_apps_of_the_tenant(installed: TwoTenants) -> None:
    before = installed.rows("growth")
    for path in sorted(LISTS - {"events"}):
        _, text = installed.sends("view-risk", "GET", f"/api/{path}")
        assert "risk" in text, path
    counts = {
        token: installed.sends(token, "GET", "/api/notifications")[0].document.dead
        for token in ("view-risk", "view-other", "whole")
    }
    assert counts == {"view-risk": 1, "view-other": 0, "whole": 2}
    changed = [
        installed.sends("operate-risk", "POST", f"/api/jobs/{word}", body={"where": "round >= 0"})[0].document
        for word in ("archive", "cancel", "retry")
    ]
    assert [each.changed > 0 for each in changed] == [True, True, True]
    answer, _ = installed.sends("operate-risk", "POST", "/api/partitions/restate", body={})
    assert len(answer.document.submissions) == 2
    assert installed.rows("growth") == before
    again = installed.sends("operate-risk", "POST", "/api/notifications/retry", body={"all": True})[0]
    assert again.document.again == 1
    restated = installed.sends("operate-growth", "POST", "/api/partitions/restate", body={})[0]
    assert len(restated.document.submissions) == 2, "those of risk were left to risk, and these to growth"


def test_a_stream_of_lists_has_only_the_apps_of_the_tenant(installed: TwoTenants) -> None:
    query = "watch=overview&watch=schedules"
    whole = installed.sends("whole", "GET", "/api/events", query)[1]
    own = installed.sends("view-risk", "GET", "/api/events", query)[1]
    assert ("growth" in whole, "risk" in whole) == (True, True)
    assert ("growth" in own, own.count("risk") > 2) == (False, True)


def test_the_id_of_a_submission_of_another_tenant_is_refused(installed: TwoTenants) -> None:
    """Otherwise a refused submission of the other tenant could be replaced under its id."""
    wanted = {"app": "risk_load", "key": "9", "id": "growth-sub"}
    assert installed.sends("operate-risk", "POST", "/api/submissions", body=wanted)[0].status == 403
    own = {"app": "risk_load", "key": "9", "id": "risk-sub"}
    assert installed.sends("operate-risk", "POST", "/api/submissions", body=own)[0].status == 409


def test_the_role_counts_too(installed: TwoTenants) -> None:
    wanted = {"app": "risk_load", "key": "9"}
    for role, statuses in (("view", [403, 403]), ("submit", [202, 403]), ("operate", [202, 200])):
        answers = [
            installed.sends(f"{role}-risk", "POST", "/api/submissions", body=wanted)[0],
            installed.sends(f"{role}-risk", "POST", "/api/submissions/risk-sub/pause", body={})[0],
        ]
        assert [answer.status for answer in answers] == statuses, role
    assert installed.sends("submit-growth", "POST", "/api/submissions", body=wanted)[0].status == 404


@pytest.mark.parametrize(
    "more",
    [
        {"rerun": "downstream"},
        {"after": [["growth_load", "growth-1"]], "work_ids": "1-3", "key": None},
        {"notify": [{"on": ["failed"], "app": "growth_mail"}]},
    ],
)
def test_a_submission_that_concerns_another_tenant_is_refused(more: dict[str, Any], site: Site) -> None:
    apps = APPS | {"growth_mail": APPS["growth_mail"] | {"depends_on": {"app_name": ["risk_load"]}}}
    site.define(apps)
    tokens = {
        "risk": NamedToken(role=Role.OPERATE, tenant="risk", sha256=digest_of("risk")),
        "whole": NamedToken(role=Role.OPERATE, sha256=digest_of("whole")),
    }
    gate = AccessControl(None, listed=lambda: AccessList(tokens=tokens))
    console = console_of(site.world, gate, str(site.folder / "apps.json"))
    body = {
        word: value for word, value in ({"app": "risk_load", "key": "1"} | more).items() if value is not None
    }

    def status(token: str, path: str, document: Any) -> int:
        headers = {**HERE, "authorization": f"Bearer {token}"}
        sent = json.dumps(document).encode()
        return console.answer(Request(method="POST", path=path, headers=headers, body=sent)).status

    assert status("risk", "/api/submissions", body) == 403
    assert status("whole", "/api/submissions", body) != 403
    if "rerun" in more:
        site.world.submit("risk_load", "2")
        site.world.finish("risk_load/2")
        assert status("risk", "/api/jobs/risk_load/2/retry", more) == 403
        assert status("risk", "/api/jobs/risk_load/2/retry", {}) == 200


def test_an_external_table_of_two_tenants_is_seen_by_both_and_landed_by_neither(site: Site) -> None:
    reads = {"table_dependencies": [{"table": "shared"}]}
    site.define({name: app | reads for name, app in APPS.items() if name.endswith("_table")})
    tokens = {
        name: NamedToken(role=Role.OPERATE, tenant=name if name in TENANTS else None, sha256=digest_of(name))
        for name in (*TENANTS, "whole")
    }
    gate = AccessControl(None, listed=lambda: AccessList(tokens=tokens))
    console = console_of(site.world, gate, str(site.folder / "apps.json"))

    def asks(token: str, method: str, path: str, body: bytes = b"") -> Response:
        path, _, query = path.partition("?")
        headers = {**HERE, "authorization": f"Bearer {token}"}
        return console.answer(Request(method=method, path=path, query=query, headers=headers, body=body))

    for token, status in (("risk", 404), ("growth", 404), ("whole", 200)):
        assert '"shared"' in asks(token, "GET", "/api/partitions").body.decode()
        assert asks(token, "GET", f"/api/partitions/cell?table=shared&partition={DAY}").status == 200
        landed = json.dumps({"partitions": [DAY]}).encode()
        assert asks(token, "POST", "/api/partitions/shared/land", landed).status == status


def test_a_console_without_definitions_shows_a_tenant_nothing(site: Site) -> None:
    site.define(APPS)
    site.world.submit("risk_load", "1")
    token = NamedToken(role=Role.OPERATE, tenant="risk", sha256=digest_of("risk"))
    gate = AccessControl(None, listed=lambda: AccessList(tokens={"risk": token}))
    console = console_of(site.world, gate)
    headers = {**HERE, "authorization": "Bearer risk"}
    listing = console.answer(Request(method="GET", path="/api/jobs", headers=headers))
    assert json.loads(listing.body)["jobs"] == []
    assert console.answer(Request(method="GET", path="/api/jobs/risk_load/1", headers=headers)).status == 404
