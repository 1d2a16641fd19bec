"""Entries in the audit for acts by the command line: one for each transaction that changes something."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from sluice.jobs.model.job import Ending
from sluice.ledger.reads.audit_log import acts
from sluice.ops.cli.command import CommandGroup
from sluice.ops.cli.commands import COMMANDS
from sluice.ops.operations import selected_jobs
from sluice.ops.operations.context import whoami
from tests.ops.site import WORDS, Site

APPS = {
    "fetch": WORDS | {"archive": "manual"},
    "mail": WORDS,
    "table": {"partition": "day", "bash_cmd": "true", "table_dependencies": [{"table": "events"}]},
}
#: Commands that change jobs, submissions, schedules, partitions or notifications.
ACTS = {
    "submit",
    "run",
    "cancel",
    "pause",
    "resume",
    "retry",
    "archive",
    "apps sync",
    "apps pause",
    "apps resume",
    "saga retry-undo",
    "saga force-done",
    "notifications retry",
    "partitions land",
    "partitions restate",
    "schedules fire",
    "schedules pause",
    "schedules resume",
    "db prune",
    "db repair",
    "db restored",
}
#: Commands that only read, start processes, write files, or maintain the ledger itself as its owner.
NO_ACTS = {
    *("init", "up", "worker", "plan", "parents", "children", "graph", "ls", "show", "logs", "why"),
    *(
        "submissions",
        "grid",
        "freshness",
        "workers",
        "demand",
        "autoscale",
        "console",
        "token",
        "audit",
        "metrics",
    ),
    *(
        "doctor",
        "config show",
        "completion",
        "bench",
        "apps check",
        "apps show",
        "apps branches",
        "saga show",
    ),
    *("notifications ls", "partitions ls", "schedules ls", "schedules next", "deploy kubernetes"),
    *("db upgrade", "db status", "db check", "db roles", "db announce"),
    *("broker roles", "broker take"),
}


def entries(site: Site) -> list[tuple[str, Any, Any]]:
    """Return all entries, the oldest first. The actor is the user of this process."""
    found = site.world.ledger.transact(lambda tx: acts(tx, limit=100))
    assert {each.actor for each in found} <= {f"cli: {whoami()}"}
    return [(each.action, each.target, each.result) for each in reversed(found)]


@pytest.fixture
def desk(site: Site) -> Site:
    site.define(APPS)
    return site


def test_every_command_is_an_act_or_not() -> None:
    words = set()
    for command in COMMANDS:
        if isinstance(command, CommandGroup):
            words |= {f"{command.word} {each.word}" for each in command.commands}
        else:
            words.add(command.word)
    assert words == ACTS | NO_ACTS
    assert not ACTS & NO_ACTS


def test_acts_on_a_submission_are_recorded(desk: Site) -> None:
    about = {"submission": "one"}
    desk.says("submit", "mail", "1", "--id", "one")
    desk.world.deliver()
    for word in ("pause", "resume", "cancel", "retry"):
        desk.says(word, "one")
    assert entries(desk) == [
        ("submit", {"id": "one", "app": "mail", "key": "1"}, {"submissions": ["one"]}),
        ("pause", about, {"held_back": 0}),
        ("resume", about, {"let_go": 0}),
        ("cancel", about, {"cancelled": 0}),
        ("retry", about, {"retried": True}),
    ]


def test_a_repeated_or_refused_act_has_no_entry(desk: Site) -> None:
    for _ in range(2):
        desk.says("submit", "mail", "1", "--id", "one")
        desk.says("apps", "pause", "mail")
    desk.says("cancel", "none", code=2)
    desk.says("cancel", "mail", "9", code=2)
    desk.says("apps", "resume", "fetch")
    assert [(did, about) for did, about, _ in entries(desk)] == [
        ("submit", {"id": "one", "app": "mail", "key": "1"}),
        ("apps pause", {"apps": ["mail"]}),
    ]


def test_acts_on_jobs_are_recorded(desk: Site) -> None:
    desk.world.submit("fetch", None, keys=["1", "2"])
    desk.world.finish("fetch/1", Ending.ERROR)
    desk.says("archive", "fetch", "1")
    desk.says("retry", "fetch", "1")
    desk.says("cancel", "fetch", "2")
    found = entries(desk)
    assert [(did, about) for did, about, _ in found] == [
        ("archive", {"app": "fetch", "keys": ["1"]}),
        ("retry", {"app": "fetch", "key": "1", "rerun": "job"}),
        ("cancel", {"app": "fetch", "key": "2"}),
    ]
    assert (found[0][2], found[2][2]) == ({"archived": 1}, {"cancelled": 1})


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (("cancel", "--where", "app = mail"), lambda found: found["cancelled"]),
        (("archive", "--where", "app = fetch"), lambda found: found["archived"]),
        (("retry", "--where", "app = fetch"), lambda found: len(found["submissions"])),
    ],
)
def test_each_batch_of_a_selection_is_recorded(
    words: tuple[str, ...],
    outcome: Callable[[Any], int],
    desk: Site,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selected_jobs, "BATCH", 2)
    for app in ("fetch", "mail"):
        desk.world.submit(app, None, keys=["1", "2", "3"])
    for key in "123":
        desk.world.finish(f"fetch/{key}", Ending.ERROR)
    desk.says(*words, "--dry-run")
    assert entries(desk) == []
    desk.says(*words)
    found = entries(desk)
    assert {(did, about["where"]) for did, about, _ in found} == {(words[0], words[2])}
    assert [outcome(each) for _, _, each in found] == ([2, 1] if words[0] != "retry" else [1, 1])


def test_each_batch_of_an_app_is_archived_with_an_entry(desk: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sluice.ops.cli.commands.jobs.archive.BATCH", 2)
    desk.world.submit("fetch", None, keys=["1", "2", "3"])
    for key in "123":
        desk.world.finish(f"fetch/{key}", Ending.ERROR)
    desk.says("archive", "fetch", "--outcome", "failed")
    about = {"app": "fetch", "outcome": "failed"}
    assert entries(desk) == [("archive", about, {"archived": 2}), ("archive", about, {"archived": 1})]


def test_acts_on_partitions_and_branches_are_recorded(desk: Site) -> None:
    desk.says("partitions", "land", "events", "2024-04-01")
    desk.says("partitions", "land", "events", "2024-04-01")
    desk.says("apps", "sync", "--branch", "main", "--dry-run")
    desk.says("apps", "sync", "--branch", "main")
    about = {"table": "events", "partitions": ["2024-04-01"]}
    assert entries(desk) == [
        ("land", about, {"landed": 1}),
        ("apps sync", {"branch": "main"}, {"changed": ["table"]}),
    ]


def test_a_submission_that_runs_here_is_recorded(desk: Site) -> None:
    desk.types("run", "mail", "7")
    ((did, about, found),) = entries(desk)
    assert (did, about) == ("submit", {"app": "mail", "key": "7"})
    assert len(found["submissions"]) == 1


def test_stale_partitions_that_are_made_again_are_recorded(desk: Site) -> None:
    desk.says("partitions", "restate")
    assert entries(desk) == [], "no partition is stale"
    desk.says("partitions", "land", "events", "2024-04-01")
    desk.world.submit("table", None, start="2024-04-01", end="2024-04-01")
    desk.world.finish(f"table/2024-04-01@{desk.world.catalogue['table'].version}")
    desk.says("partitions", "land", "events", "2024-04-01", "--again")
    ids = desk.says("partitions", "restate", "events")["submissions"]
    assert entries(desk)[-2:] == [
        ("land", {"table": "events", "partitions": ["2024-04-01"]}, {"again": 1, "stale": {"table": 1}}),
        ("restate", {"table": "events", "partitions": []}, {"submissions": ids}),
    ]


def test_acts_on_schedules_are_recorded(desk: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"schedules": [{"id": "nightly", "app": "mail", "cron": "0 2 * * *", "key": "1"}]}
    (desk.folder / "times.json").write_text(json.dumps(times))
    monkeypatch.setenv("SLUICE_APPS", f"{desk.folder / 'apps.json'},{desk.folder / 'times.json'}")
    for word in ("pause", "pause", "resume", "resume"):
        desk.says("schedules", word, "nightly")
    desk.says("schedules", "fire", "nightly", "--due", "2026-11-01T02:00:00+00:00")
    desk.says("schedules", "fire", "nightly", "--due", "2026-11-01T02:00:00+00:00")
    assert [(did, found) for did, _, found in entries(desk)] == [
        ("schedules pause", {"paused": ["nightly"]}),
        ("schedules resume", {"resumed": ["nightly"]}),
        ("schedules fire", {"fired": True}),
    ]


def test_a_prune_is_recorded_with_its_counts(desk: Site) -> None:
    desk.world.submit("mail", "1")
    desk.world.finish("mail/1")
    desk.says("db", "prune", "--older-than", "30d")
    assert entries(desk) == [], "nothing is that old"
    desk.world.tick(after_s=40 * 86400)
    desk.says("db", "prune", "--older-than", "1ms", "--dry-run")
    assert entries(desk) == []
    desk.says("db", "prune", "--older-than", "1ms")
    ((did, about, counts),) = entries(desk)
    assert (did, about["older_than_s"], counts["jobs"]) == ("db prune", 0.001, 1)


def test_a_repair_is_recorded_with_its_rules(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b")
    site.says("db", "repair")
    assert entries(site) == []
    site.world.ledger.transact(lambda tx: tx.write("UPDATE gate SET unmet = 7"))
    repaired = site.says("db", "repair")["repaired"]
    assert entries(site) == [("db repair", {}, {"repaired": repaired})]


def test_a_restored_ledger_is_recorded(desk: Site) -> None:
    lease = "UPDATE worker SET lease_until = now() - interval '1 day'"
    desk.says("db", "restored", code=3)
    assert entries(desk) == []
    desk.world.ledger.transact(lambda tx: tx.write(lease))
    above = desk.says("db", "restored")["above"]
    assert entries(desk) == [("db restored", {"copy": False}, {"above": above})]
