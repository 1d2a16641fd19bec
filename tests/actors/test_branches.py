"""Definitions on branches: partitions of a shared definition are made once, and a changed definition makes its own."""

from pathlib import Path
from typing import Any

import pytest

from sluice.actors import branches
from sluice.actors.branches import Difference
from sluice.actors.executor.assignments import NotHere, Versions, assign
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.partitions import with_version
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import SubmissionState
from sluice.ledger.keyspaces import versions
from sluice.ledger.keyspaces.versions import Kept
from tests.world import World, catalogue_of

STAGING = {"output_table": "staging", "bash_cmd": "true"}
LINEAGE: dict[str, dict[str, Any]] = {
    "staging": STAGING,
    "sums": {"bash_cmd": "true", "table_dependencies": [{"table": "staging"}]},
    "join": {"bash_cmd": "true", "table_dependencies": [{"table": "sums"}]},
}
DAY = {"start": "2024-04-01", "end": "2024-04-03"}


def _changed(app: str, **words: Any) -> dict[str, dict[str, Any]]:
    return {**LINEAGE, app: {**LINEAGE[app], **words}}


def _sync(world: World, branch: str, apps: dict[str, Any], *, dry_run: bool = False) -> Difference:
    return branches.sync(world.ledger, branch, catalogue_of(apps), by="ann", dry_run=dry_run)


def _run_all(world: World) -> None:
    while ready := sorted(world.ready()):
        for name in ready:
            world.finish(name)


def _count(world: World, app: str) -> int:
    return sum(name.startswith(f"{app}/") for name in world.states())


def test_a_branch_shares_the_partitions_of_unchanged_apps(world: World) -> None:
    world.define(LINEAGE)
    _sync(world, "main", LINEAGE)
    world.submit("join", None, **DAY)
    _run_all(world)
    difference = _sync(world, "exp", _changed("sums", bash_cmd="echo sums"))
    assert [(each.app, each.partitions, each.shared) for each in difference.moved] == [
        ("join", 3, False),
        ("sums", 3, False),
    ]
    assert difference.unchanged == ("staging",)
    id = world.submit("join", None, branch="exp", **DAY)
    assert (_count(world, "staging"), _count(world, "sums"), _count(world, "join")) == (3, 6, 6)
    _run_all(world)
    assert world.submission(id) is SubmissionState.SUCCEEDED


@pytest.mark.parametrize(
    "words",
    [{"function": "marking:leave_a_mark"}, {"job_type": "marking:Manager"}],
    ids=["function", "job manager"],
)
def test_planning_or_showing_a_branch_imports_no_module_named_in_the_ledger(
    words: dict[str, str], world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "mark"
    (tmp_path / "marking.py").write_text(f"open({str(mark)!r}, 'w').close()\ndef leave_a_mark(): pass\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    written = {"output_table": "staging", **words}
    kept = Kept(app="staging", version="0123456789abcdef", code="by another process", options=written)
    world.define({})
    world.ledger.transact(lambda tx: versions.set_branch(tx, "theirs", [kept], {}, by="ann"))
    world.submit("staging", None, branch="theirs", **DAY)
    assert _count(world, "staging") == 3
    shown = world.ledger.transact(lambda tx: branches.branch_of(tx, "theirs"))["staging"]
    assert (shown.version, shown.code, shown.words) == (kept.version, kept.code, kept.options)
    assert world.ledger.transact(lambda tx: versions.kept(tx, "staging", kept.version)) == kept
    assert not mark.exists()


def test_a_stored_definition_named_conf_planner_cannot_be_read(world: World) -> None:
    kept = Kept(app="conf_planner", version="1", code="", options={"output_table": "t", "bash_cmd": "true"})
    world.ledger.transact(lambda tx: versions.set_branch(tx, "theirs", [kept], {}, by="ann"))
    with pytest.raises(BadRequest, match="cannot be read here"):
        world.ledger.transact(lambda tx: branches.branch_of(tx, "theirs"))


def test_two_branches_with_the_same_definitions_share_everything(world: World) -> None:
    world.define({})
    _sync(world, "one", LINEAGE)
    _sync(world, "two", LINEAGE)
    first = world.submit("join", None, branch="one", **DAY)
    second = world.submit("join", None, branch="two", **DAY)
    assert len(world.states()) == 9
    world.define(LINEAGE)
    _run_all(world)
    assert {world.submission(first), world.submission(second)} == {SubmissionState.SUCCEEDED}
    rows = world.ledger.transact(
        lambda tx: tx.rows("SELECT (SELECT count(*) FROM app_version), (SELECT count(*) FROM branch)")
    )
    assert rows == [(3, 6)]


def test_a_changed_timeout_or_owner_makes_no_new_version(world: World) -> None:
    _sync(world, "main", LINEAGE)
    assert _sync(world, "main", _changed("staging", timeout="5m", owner="bob")).moved == ()


def test_a_reverted_definition_finds_its_old_partitions_again(world: World) -> None:
    world.define(LINEAGE)
    _sync(world, "main", LINEAGE)
    world.submit("join", None, **DAY)
    _run_all(world)
    world.define(_changed("staging", bash_cmd="echo"))
    world.submit("join", None, **DAY)
    assert len(world.ready()) == 3
    _run_all(world)
    world.define(LINEAGE)
    again = world.submit("join", None, **DAY)
    assert world.submission(again) is SubmissionState.SUCCEEDED


def test_a_dry_run_changes_nothing(world: World) -> None:
    _sync(world, "main", LINEAGE)
    assert _sync(world, "main", _changed("staging", bash_cmd="echo"), dry_run=True).moved
    assert _sync(world, "main", LINEAGE, dry_run=True).moved == ()
    assert _sync(world, "new", LINEAGE, dry_run=True).moved == ()
    refused = world.submit("join", None, branch="new", **DAY)
    assert "There is no branch 'new'" in world.reason(refused)


def test_a_table_that_is_still_read_cannot_lose_its_app(world: World) -> None:
    _sync(world, "main", LINEAGE)
    with pytest.raises(BadRequest, match="staging is gone, and sums still reads its table staging"):
        _sync(world, "main", {name: LINEAGE[name] for name in ("sums", "join")})
    assert _sync(world, "main", {"staging": STAGING}).partitions == 0


def test_a_job_of_an_older_version_runs_by_the_stored_definition(world: World) -> None:
    world.define(LINEAGE)
    world.submit("staging", None, **DAY)
    (first, *_) = sorted(world.ready())
    name = world.known(first).name
    world.define(_changed("staging", bash_cmd="echo"))
    versions = Versions(world.ledger)
    assert versions.of(world.catalogue, name).bash_cmd == "true"
    later = with_version("2024-04-01", world.catalogue["staging"].version)
    assert versions.of(world.catalogue, JobName("staging", later)).bash_cmd == "echo"
    with pytest.raises(NotHere, match="the definition of version 0badc0de was not kept"):
        versions.of(world.catalogue, JobName("staging", with_version("2024-04-01", "0badc0de")))


def test_a_conf_plans_the_app_of_the_requested_mode(world: World) -> None:
    world.define({**LINEAGE, "confs": {"features": {"offline": "join", "backfill": "sums"}}})
    world.submit("features", None, mode="backfill", **DAY)
    assert _count(world, "join") == 0
    assert _count(world, "sums") == 3
    refused = world.submit("features", None, mode="online", **DAY)
    assert "no mode 'online'" in world.reason(refused)
    unsaid = world.submit("features", None, **DAY)
    assert "several modes" in world.reason(unsaid)


def test_upstream_apps_that_two_modes_share_run_once(world: World) -> None:
    online = {"bash_cmd": "true", "table_dependencies": [{"table": "sums"}]}
    world.define(
        {**LINEAGE, "online": online, "confs": {"features": {"offline": "join", "online": "online"}}}
    )
    offline = world.submit("features", None, mode="offline", **DAY)
    assert _count(world, "online") == 0
    served = world.submit("features", None, mode="online", **DAY)
    assert [_count(world, app) for app in ("staging", "sums", "join", "online")] == [3, 3, 3, 3]
    _run_all(world)
    assert {world.submission(offline), world.submission(served)} == {SubmissionState.SUCCEEDED}


def test_a_mode_overrides_the_options_of_its_app(world: World) -> None:
    modes = {"offline": {"max_fails": 3}, "online": {"priority": 5}}
    world.define({**LINEAGE, "join": {**LINEAGE["join"], "modes": modes}})
    world.submit("join", None, mode="offline", **DAY)
    (first, *_) = (name for name in world.states() if name.startswith("join/"))
    assert (world.field(first, "max_fails"), world.field(first, "priority")) == (3, 0)
    assert "no mode 'nightly'" in world.reason(world.submit("join", None, mode="nightly", **DAY))
    assert "no mode 'offline'" in world.reason(world.submit("sums", None, mode="offline", **DAY))


def test_two_confs_of_the_same_apps_share_their_jobs(world: World) -> None:
    world.define({**LINEAGE, "confs": {"old": {"offline": "join"}, "new": {"offline": "join"}}})
    world.submit("old", None, **DAY)
    world.submit("new", None, **DAY)
    assert len(world.states()) == 9


_BY = {"store": ["graz", "oslo"]}
SLICED: dict[str, dict[str, Any]] = {
    "sales": {"bash_cmd": "true", "partition": {"by": _BY}},
    "top": {"bash_cmd": "true", "partition": {"by": _BY}, "table_dependencies": [{"table": "sales"}]},
    "total": {"bash_cmd": "true", "table_dependencies": [{"table": "sales"}]},
}


def test_a_branch_shares_the_slices_of_unchanged_apps(world: World) -> None:
    world.define(SLICED)
    _sync(world, "main", SLICED)
    for app in ("top", "total"):
        world.submit(app, None, **DAY)
    _run_all(world)
    changed = {**SLICED, "top": {**SLICED["top"], "bash_cmd": "echo"}}
    difference = _sync(world, "exp", changed)
    assert [(each.app, each.partitions) for each in difference.moved] == [("top", 6)]
    assert difference.unchanged == ("sales", "total")
    id_ = world.submit("top", None, branch="exp", by={"store": "oslo"}, **DAY)
    assert {name.partition("@")[0] for name in world.ready()} == {
        f"top/oslo/2024-04-0{day}" for day in (1, 2, 3)
    }
    claimed = world.take(min(world.ready()))
    app = Versions(world.ledger).of(world.catalogue, claimed.name)
    assert assign(app, claimed).by == {"store": "oslo"}
    world.record(claimed)
    _run_all(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert (_count(world, "sales"), _count(world, "top"), _count(world, "total")) == (6, 9, 3)


def test_a_changed_slice_input_moves_all_of_its_readers_and_a_new_value_moves_none(world: World) -> None:
    _sync(world, "main", SLICED)
    changed = _sync(world, "exp", {**SLICED, "sales": {**SLICED["sales"], "bash_cmd": "echo"}}, dry_run=True)
    assert [each.app for each in changed.moved] == ["sales", "top", "total"]
    more = {"partition": {"by": {"store": ["graz", "oslo", "turku"]}}}
    values = {**SLICED, **{name: {**SLICED[name], **more} for name in ("sales", "top")}}
    assert _sync(world, "exp", values, dry_run=True).moved == ()


@pytest.mark.parametrize("planned", ["sales", "top"])
def test_a_value_that_one_stored_definition_has_belongs_to_all_tables_of_its_branch(
    world: World, planned: str
) -> None:
    """Values are not part of a version, and a plan stores only the apps of its jobs."""
    _sync(world, "exp", SLICED)
    more = {"partition": {"by": {"store": ["graz", "oslo", "turku"]}}}
    world.define({**SLICED, **{name: {**SLICED[name], **more} for name in ("sales", "top")}})
    if planned == "top":
        world.land("sales[store=turku]", "2024-04-01..2024-04-03")
    world.submit(planned, None, by={"store": "turku"}, **DAY)
    _run_all(world)
    id_ = world.submit("top", None, branch="exp", **DAY)
    assert world.reason(id_) == ""
    _run_all(world)
    assert world.submission(id_) is SubmissionState.SUCCEEDED
    assert _count(world, "top") == 9
    world.submit("total", None, branch="exp", **DAY)
    _run_all(world)
    assert _count(world, "total") == 3
