"""Actions by HTTP on a running console, and their entries in the audit."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from sluice.jobs.states import State
from sluice.ledger.reads.audit_log import AuditEntry, acts
from tests.ops.caller import Caller, console
from tests.ops.orders import drained, fatal, waiting
from tests.ops.typist import Typist
from tests.ops.weeks import APPS as TABLES

SCHEDULES = {"schedules": [{"id": "nightly", "app": "fetch", "cron": "0 2 * * *", "key": "20261120_oslo"}]}
BOXES = {
    "box": {"job_id": "{n}", "bash_cmd": "true", "archive": "manual"},
    "open": {"job_id": "{n}", "bash_cmd": "true", "submitters_may_set": ["env"]},
}


@pytest.fixture(scope="module")
def desk(orders: Typist) -> Typist:
    orders.apps("tables.json", TABLES)
    orders.apps("times.json", SCHEDULES)
    orders.apps("boxes.json", BOXES)
    orders.environment["SLUICE_APPS"] = "orders.py,apps.json,tables.json,times.json,boxes.json"
    return orders


@pytest.fixture(scope="module")
def caller(desk: Typist) -> Iterator[Caller]:
    with console(desk) as caller:
        yield caller


class Notes:
    """Entries of the console in the audit since the last read. Entries of commands that prepare a test are left out."""

    def __init__(self, desk: Typist) -> None:
        self._desk = desk
        self._seen = {each.id for each in self._all()}

    def new(self) -> list[AuditEntry]:
        found = [each for each in self._all() if each.id not in self._seen]
        self._seen |= {each.id for each in found}
        return found

    def one(self) -> tuple[str, Any, Any]:
        """Return the only new entry: the action, its object and its result."""
        (found,) = self.new()
        assert found.actor == "operate from 127.0.0.1"
        return found.action, found.target, found.result

    def _all(self) -> list[AuditEntry]:
        found = self._desk.ledger.transact(lambda tx: acts(tx, limit=1000))
        return [each for each in found if not each.actor.startswith("cli: ")]


@pytest.fixture
def notes(desk: Typist) -> Notes:
    return Notes(desk)


def done(caller: Caller, path: str, document: Any = None, status: int = 200) -> Any:
    told = caller.posts(path, document)
    assert told.status == status, told
    return told.document


def test_a_submission_is_received_paused_resumed_and_cancelled(caller: Caller, notes: Notes) -> None:
    wanted = {"app": "report", "key": "2026-11-01", "id": "november"}
    assert done(caller, "/api/submissions", wanted, 202) == {"submission": "november", "state": "received"}
    about = {"id": "november", "app": "report", "key": "2026-11-01"}
    assert notes.one() == ("submit", about, {"submissions": ["november"]})
    done(caller, "/api/submissions", wanted, 202)
    done(caller, "/api/submissions", wanted | {"key": "2026-11-02"}, 409)
    assert notes.new() == []
    assert done(caller, "/api/submissions/november/pause") == {"paused": "november", "held_back": 0}
    assert notes.one() == ("pause", {"submission": "november"}, {"held_back": 0})
    assert done(caller, "/api/submissions/november/resume") == {"resumed": "november", "let_go": 0}
    assert notes.one() == ("resume", {"submission": "november"}, {"let_go": 0})
    assert done(caller, "/api/submissions/november/cancel") == {"cancelled": 0}
    assert notes.one() == ("cancel", {"submission": "november"}, {"cancelled": 0})


def test_a_cancelled_submission_is_retried(caller: Caller, notes: Notes) -> None:
    done(caller, "/api/submissions", {"app": "report", "key": "2026-10-01", "id": "october"}, 202)
    done(caller, "/api/submissions/october/cancel")
    notes.new()
    assert done(caller, "/api/submissions/october/retry") == {"submission": "october", "state": "received"}
    assert notes.one() == ("retry", {"submission": "october"}, {"retried": True})
    assert done(caller, "/api/submissions/october/retry") == {"submission": "october", "state": "received"}
    assert notes.new() == [], "it is open already"
    done(caller, "/api/submissions/october/cancel")
    notes.new()


def test_the_audit_keeps_no_values_of_the_environment_or_kwargs(caller: Caller, notes: Notes) -> None:
    policy = {"env": {"DB_PASSWORD": "hunter2"}, "priority": 3}
    kwargs = {"page": "https://me:hunter2@host/", "all": True}
    wanted = {"app": "open", "key": "1", "id": "secretive", "policy": policy, "kwargs": kwargs}
    done(caller, "/api/submissions", wanted, 202)
    did, about, _ = notes.one()
    masked = {"env": {"DB_PASSWORD": "…"}, "priority": 3}
    assert did == "submit"
    assert about == {
        "id": "secretive",
        "app": "open",
        "key": "1",
        "policy": masked,
        "kwargs": ["all", "page"],
    }
    shown = caller.reads("/api/submissions/secretive")["request"]
    assert shown["policy"] == masked
    assert "hunter2" not in str(shown)


@pytest.mark.parametrize(
    ("path", "document", "status"),
    [
        ("/api/submissions/none/retry", {}, 422),
        ("/api/submissions", {"app": "report", "compensates": "x"}, 422),
        ("/api/submissions", {"app": "box", "key": "1", "policy": {"env": {"A": "b"}}}, 422),
        ("/api/submissions/none/cancel", {}, 422),
        ("/api/submissions/none/pause", {}, 422),
        ("/api/submissions/none/resume", {}, 422),
        ("/api/jobs/report/20200101/cancel", {}, 422),
        ("/api/jobs/report/20200101/retry", {}, 422),
        ("/api/jobs/report/20200101/archive", {}, 422),
        ("/api/jobs/report/20200101/resume", {"event": "go"}, 422),
        ("/api/jobs/report/20200101/retry", {"rerun": "upstream"}, 400),
        ("/api/sagas/order/999/force-done", {}, 422),
        ("/api/sagas/order/999/retry-undo", {}, 422),
        ("/api/schedules/none/pause", {}, 422),
        ("/api/schedules/none/resume", {}, 422),
        ("/api/schedules/none/fire", {}, 422),
        ("/api/schedules/nightly/fire", {"due": "2026-11-20T03:00:00Z"}, 422),
        ("/api/schedules/nightly/fire", {"due": "2026-11-20T02:00:00"}, 400),
        ("/api/partitions/none/land", {"partitions": ["2024-04-01"]}, 422),
        ("/api/partitions/events/land", {"partitions": ["April"]}, 422),
        ("/api/partitions/events/land", {"partitions": []}, 400),
        ("/api/apps/none/pause", {}, 422),
    ],
)
def test_a_refused_action_has_no_audit_entry(
    path: str, document: Any, status: int, caller: Caller, notes: Notes
) -> None:
    told = caller.posts(path, document)
    assert (told.status, told.document["status"], notes.new()) == (status, status, [])


def test_a_job_is_cancelled_and_run_again(caller: Caller, desk: Typist, notes: Notes) -> None:
    done(caller, "/api/apps/nap/pause")
    notes.new()
    desk.asks("submit", "nap", "0")
    with desk.starts("up"):
        desk.waits_until("nap", "0", State.READY)
    job = {"app": "nap", "key": "0"}
    assert done(caller, "/api/jobs/nap/0/cancel") == {**job, "cancelled": 1, "undone_first": 0}
    assert notes.one() == ("cancel", job, {"cancelled": 1})
    assert caller.posts("/api/jobs/nap/0/cancel").status == 422
    assert notes.new() == []
    again = done(caller, "/api/jobs/nap/0/retry", {"rerun": "downstream"})
    assert {word: again[word] for word in ("app", "key", "state")} == {**job, "state": "received"}
    assert notes.one() == ("retry", {**job, "rerun": "downstream"}, {"submissions": [again["submission"]]})
    assert done(caller, "/api/apps/nap/resume") == {"resumed": ["nap"]}
    assert notes.one() == ("apps resume", {"app": "nap"}, {"resumed": ["nap"]})
    drained(desk)
    assert desk.asks("show", "nap", "0")["state"] == "succeeded"


def test_a_repeated_pause_of_an_app_has_no_audit_entry(caller: Caller, notes: Notes) -> None:
    assert done(caller, "/api/apps/mail/pause") == {"paused": ["mail"]}
    assert notes.one() == ("apps pause", {"app": "mail"}, {"paused": ["mail"]})
    assert done(caller, "/api/apps/mail/pause") == {"paused": []}
    assert done(caller, "/api/apps/mail/resume") == {"resumed": ["mail"]}
    assert [each.action for each in notes.new()] == ["apps resume"]


def test_the_outcome_of_a_job_is_archived(caller: Caller, desk: Typist, notes: Notes) -> None:
    desk.asks("submit", "box", "a b")
    drained(desk)
    path = f"/api/jobs/box/{quote('a b')}/archive"
    assert done(caller, path) == {"archived": 1}
    assert notes.one() == ("archive", {"app": "box", "key": "a b"}, {"archived": 1})
    assert caller.posts(path).status == 422
    assert notes.new() == []


def test_selected_jobs_are_cancelled_retried_and_archived(caller: Caller, desk: Typist, notes: Notes) -> None:
    done(caller, "/api/apps/box/pause")
    desk.asks("submit", "box", "s1", "s2", "s3")
    with desk.starts("up"):
        desk.waits_until("box", "s3", State.READY)
    notes.new()
    chosen = {"where": "app = box and key in (s1, s2, s3)"}
    said = done(caller, "/api/jobs/cancel", chosen | {"dry_run": True})
    assert (said["selected"], said["changed"], said["first"]) == (3, 3, ["box/s3", "box/s2", "box/s1"])
    assert notes.new() == []
    said = done(caller, "/api/jobs/cancel", chosen)
    assert (said["changed"], said["refused"], said["next"]) == (3, {}, None)
    assert notes.one() == ("cancel", chosen, {"cancelled": 3})
    said = done(caller, "/api/jobs/cancel", chosen)
    assert (said["changed"], said["refused"]) == (0, {"cancelled: it has ended": 3})
    assert notes.new() == []
    said = done(caller, "/api/jobs/retry", chosen)
    assert (said["changed"], len(said["submissions"])) == (3, 1)
    assert notes.one() == ("retry", chosen, {"submissions": said["submissions"]})
    done(caller, "/api/apps/box/resume")
    notes.new()
    drained(desk)
    assert done(caller, "/api/jobs/archive", chosen)["changed"] == 3
    assert notes.one() == ("archive", chosen, {"archived": 3})
    done(caller, "/api/jobs/retry", {"where": "app fetch"}, 422)
    done(caller, "/api/jobs/retry", chosen | {"after": "p1.x"}, 400)


def test_an_event_resumes_a_waiting_saga(caller: Caller, desk: Typist, notes: Notes) -> None:
    waiting(desk, "71")
    said = {"event": "approved", "payload": {"ok": True}, "id": "evt_1"}
    told = {"app": "order", "key": "71", "event": "approved"}
    assert done(caller, "/api/jobs/order/71/resume", said) == {**told, "became": "resumed"}
    assert notes.one() == ("resume", told, {"became": "resumed"})
    assert done(caller, "/api/jobs/order/71/resume", said) == {**told, "became": "repeated"}
    assert notes.new() == []
    events = desk.asks("saga", "show", "order", "71")["saga"]["events"]
    assert [each["by"] for each in events] == ["the console, operate from 127.0.0.1"]


def test_a_cancelled_saga_is_undone_first(caller: Caller, desk: Typist, notes: Notes) -> None:
    waiting(desk, "72")
    told = done(caller, "/api/jobs/order/72/cancel")
    assert (told["cancelled"], told["undone_first"]) == (0, 1)
    assert notes.one()[2] == {"cancelled": 0, "undone_first": 1}
    drained(desk)
    assert desk.asks("show", "order", "72")["state"] == "cancelled"


def test_a_selected_saga_is_undone_first_and_counts_as_changed(
    caller: Caller, desk: Typist, notes: Notes
) -> None:
    waiting(desk, "79")
    told = done(caller, "/api/jobs/cancel", {"where": "app = order and key = 79"})
    assert (told["selected"], told["changed"], told["refused"]) == (1, 1, {})
    assert [each.action for each in notes.new()] == ["cancel"]
    drained(desk)
    assert desk.asks("show", "order", "79")["state"] == "cancelled"


def test_a_failed_undo_is_retried_or_forced_to_count_as_done(
    caller: Caller, desk: Typist, notes: Notes
) -> None:
    lock = fatal(desk, "73")
    again = done(caller, "/api/sagas/order/73/retry-undo")
    about = {"app": "order", "key": "73"}
    assert notes.one() == ("saga retry-undo", about, {"submissions": [again["submission"]]})
    drained(desk)
    forced = done(caller, "/api/sagas/order/73/force-done", {"note": "by hand"})
    assert (forced["step"], forced["name"]) == (0, "Reserve")
    assert notes.one() == ("saga force-done", {**about, "note": "by hand"}, {"forced": "Reserve"})
    drained(desk)
    assert desk.asks("show", "order", "73")["state"] == "failed"
    lock.unlink()


def test_a_schedule_is_paused_resumed_and_fired(caller: Caller, notes: Notes) -> None:
    assert done(caller, "/api/schedules/nightly/pause") == {"paused": ["nightly"]}
    assert notes.one() == ("schedules pause", {"schedules": ["nightly"]}, {"paused": ["nightly"]})
    assert [each["coming"] for each in caller.reads("/api/schedules")["schedules"]] == [[]]
    assert done(caller, "/api/schedules/nightly/pause") == {"paused": []}
    assert notes.new() == []
    assert done(caller, "/api/schedules/nightly/resume") == {"resumed": ["nightly"]}
    assert notes.one() == ("schedules resume", {"schedules": ["nightly"]}, {"resumed": ["nightly"]})
    assert done(caller, "/api/schedules/nightly/resume") == {"resumed": []}
    assert notes.new() == []
    due = {"due": "2026-11-20T02:00:00Z"}
    fired = done(caller, "/api/schedules/nightly/fire", due)
    assert fired == {
        "schedule": "nightly",
        "submission": "schedule:nightly:2026-11-20T02:00:00Z",
        **due,
        "new": True,
    }
    assert notes.one() == ("schedules fire", {"schedule": "nightly", **due}, {"fired": True})
    assert done(caller, "/api/schedules/nightly/fire", due)["new"] is False
    assert notes.new() == []
    assert done(caller, "/api/schedules/nightly/fire")["new"] is True
    assert notes.one() == ("schedules fire", {"schedule": "nightly", "due": None}, {"fired": True})


def test_partitions_land(caller: Caller, notes: Notes) -> None:
    some = {"partitions": ["2024-05-01..2024-05-03"]}
    assert done(caller, "/api/partitions/events/land", some) == _landing(landed=3)
    assert notes.one() == ("land", {"table": "events", **some}, {"landed": 3})
    assert done(caller, "/api/partitions/events/land", some) == _landing()
    assert notes.new() == []
    assert done(caller, "/api/partitions/events/land", {**some, "again": True}) == _landing(again=3)
    assert notes.one() == ("land", {"table": "events", **some}, {"again": 3, "stale": {}})


def _landing(*, landed: int = 0, again: int = 0) -> dict[str, Any]:
    return {"table": "events", "landed": landed, "again": again, "stale": {}}


def test_the_audit_is_read_page_by_page_and_by_command(caller: Caller, desk: Typist) -> None:
    for n in range(3):
        done(caller, "/api/partitions/events/land", {"partitions": [f"2024-06-0{n + 1}"]})
    first = caller.reads("/api/audit?limit=2")
    second = caller.reads(f"/api/audit?limit=1&after={first['next']}")
    told = [*first["audit"], *second["audit"]]
    assert [each["target"]["partitions"] for each in told] == [[f"2024-06-0{n}"] for n in (3, 2, 1)]
    assert desk.asks("audit", "--since", "1h")[:3] == told
    assert desk.asks("audit", "--since", "0s") == []
    assert "operate from 127.0.0.1" in desk.types("audit").out
