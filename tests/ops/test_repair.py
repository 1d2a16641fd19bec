"""The output of ``sluice db check`` and ``sluice db repair`` for a ledger that was changed by hand."""

from sluice.jobs.states import MAKE_READY, RECORD, REQUEST, By, State
from sluice.ledger.database.history import VerbBy, number
from sluice.ops.cli.main import main
from tests.ops.site import Site

_RECORDED = number(State.RUNNING, VerbBy(RECORD, By.EXECUTOR))
_READY = number(None, VerbBy(REQUEST, By.PLANNER), VerbBy(MAKE_READY, By.PLANNER))


def test_a_repairable_breach_is_repaired(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b")
    damage = "UPDATE gate SET unmet = 7"
    assert site.world.ledger.transact(lambda tx: tx.write(damage)) == 1
    (breach,) = site.says("db", "check", code=1)["breaches"]
    assert breach["rule"] == "dependency groups count their dependencies correctly"
    assert (breach["count"], breach["of"], breach["examples"]) == (1, "jobs", ["b/1"])
    assert "`sluice db repair`" in breach["repair"]
    assert site.says("db", "repair") == {
        "repaired": ["dependency groups count their dependencies correctly"],
        "breaches": [],
    }
    assert site.says("db", "check") == {"breaches": []}
    assert site.says("db", "repair") == {"repaired": [], "breaches": []}


def test_many_broken_rows_are_counted_and_some_are_named(site: Site) -> None:
    site.chain("a -> b")
    site.world.submit("b", None, keys=[str(key) for key in range(1, 16)])
    site.world.ledger.transact(lambda tx: tx.write("UPDATE gate SET unmet = 7"))
    (breach,) = site.says("db", "check", code=1)["breaches"]
    assert (breach["count"], len(breach["examples"])) == (15, 10)
    assert set(breach["examples"]) <= {f"b/{key}" for key in range(1, 16)}
    text = site.types("db", "check", code=1)
    assert "15 jobs" in text
    assert "b/1" in text
    assert "2, 4" not in text, "these would be ids of rows"
    site.says("db", "repair")


def test_submissions_that_break_a_rule_are_named_by_their_ids(site: Site) -> None:
    site.chain("a")
    site.world.submit("a", id="asked")
    rename = "UPDATE submission SET id = 'schedule:nightly:2026-11-20T02:00:00Z' WHERE id = 'asked'"
    site.world.ledger.transact(lambda tx: tx.write(rename))
    schedule = """
    INSERT INTO schedule (id, app, source, digest, rule, timezone, created_at, changed_at)
    VALUES ('nightly', 'a', 's', 'd', 'r', 'UTC', now(), now())
    """
    site.world.ledger.transact(lambda tx: tx.write(schedule))
    (breach,) = site.says("db", "check", code=1)["breaches"]
    assert (breach["count"], breach["of"]) == (1, "submissions")
    assert breach["examples"] == ["schedule:nightly:2026-11-20T02:00:00Z"]
    site.world.ledger.transact(lambda tx: tx.write("DELETE FROM schedule"))


def test_a_job_beyond_repair_is_named_with_its_show_command(site: Site) -> None:
    site.chain("a")
    site.world.submit("a")
    astray, back = f"UPDATE history SET kind = {_RECORDED}", f"UPDATE history SET kind = {_READY}"
    site.world.ledger.transact(lambda tx: tx.write(astray))
    breaches = site.says("db", "check", code=1)["breaches"]
    assert {example for each in breaches for example in each["examples"] if each["of"] == "jobs"} == {"a/1"}
    assert "`sluice show a 1`" in breaches[0]["repair"]
    site.world.ledger.transact(lambda tx: tx.write(back))


def test_a_wrong_count_is_shown_with_the_right_one(site: Site) -> None:
    site.chain("a")
    site.world.submit("a")
    more = "INSERT INTO state_count (app, state, jobs, entered) VALUES ('a', 'failed', 3, 0)"
    site.world.ledger.transact(lambda tx: tx.write(more))
    (breach,) = site.says("db", "check", code=1)["breaches"]
    assert (breach["of"], breach["examples"]) == ("counts", ["a failed: 0, counted as 3"])
    site.says("db", "repair")


def test_a_breach_without_repair_has_advice_about_a_dump(site: Site) -> None:
    astray = "INSERT INTO partition (table_name, version, partition, job) VALUES ('a', '', 1, 999)"
    assert site.world.ledger.transact(lambda tx: tx.write(astray)) == 1
    for word in ("check", "repair"):
        said = site.says("db", word, code=1)["breaches"]
        assert [("dump" in each["repair"], "db repair" in each["repair"]) for each in said] == [(True, False)]
    assert main(["db", "check"]) == 1
    site.world.ledger.transact(lambda tx: tx.write("DELETE FROM partition"))
