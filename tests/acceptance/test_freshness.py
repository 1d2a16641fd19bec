"""``sluice freshness``: the last success of apps, for people and in the form that ``plan --facts`` reads."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sluice.jobs.model.job import Ending
from sluice.jobs.states import State
from tests.acceptance.chunk_notation import ages, ages_of_runs, definitions
from tests.acceptance.chunked_ledger import recorded, remember
from tests.acceptance.command_typist import Clerk
from tests.acceptance.plans_by_freshness import ANY_IDS, CHUNKS, LAGS
from tests.acceptance.test_plans_by_chunk import Case, assert_as_told, options_of
from tests.world import World

CASES: dict[str, Case] = LAGS | CHUNKS | ANY_IDS
#: Cases that differ in the facts that the command prints.
AS_FACTS = [
    "a millisecond older",  # The precision of printed times.
    "one ID is stale",  # Work IDs of one chunk with different times.
    "two minutes ago on one ID, never on the other",  # A work ID without a time.
    "it ran on other IDs only",  # The time of a submission alone.
    "it ran only as a dependency of another app",  # Times of work IDs alone: no submission counts.
    "another app ran",  # The time of another app's submission.
]


@pytest.fixture
def today(world: World) -> World:
    """Return a world with the time of the command's clock."""
    world.now = datetime.now(UTC).replace(microsecond=0)
    world.worker = world.hire()
    return world


def pass_time(world: World, hours: float) -> None:
    """Make all past events this much older by the command's clock."""
    world.ledger.transact(
        lambda tx: [
            tx.write(f"UPDATE {table} SET {column} = {column} - make_interval(secs => %(s)s)", s=hours * 3600)
            for table, column in (
                ("job", "changed_at"),
                ("history", "at"),
                ("freshness", "at"),
                ("submission", "ended_at"),
            )
        ]
    )


def iso(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


class TestKeys:
    def test_each_key_is_listed_with_its_last_success(self, office: Clerk, today: World) -> None:
        apps = {"a": {"job_id": "{x}"}}
        today.define(apps)
        source = office.defines(apps)
        for key in ("1", "2", "3", "4"):
            today.submit("a", key)
        today.finish("a/1")
        today.finish("a/2")
        today.finish("a/3", Ending.ERROR)
        pass_time(today, 7)
        today.submit("a", "2", rerun="job")
        then = iso(today.now - timedelta(hours=7))
        assert office.asks("--apps", source, "freshness", "a") == {"freshness": {"a": {"1": then, "2": then}}}
        assert today.state("a/2") is State.READY
        lines = office.reads("--apps", source, "freshness", "a", "2", "3")
        assert lines[0].split() == ["key", "last", "succeeded", "(UTC)", "age"]
        assert lines[1].split() == ["3", "never"]
        assert lines[2].startswith("2    ")
        assert lines[2].endswith("7 h 0 min")

    def test_a_typed_key_is_read_in_the_canonical_spelling_of_its_app(
        self, office: Clerk, today: World
    ) -> None:
        apps = {"a": {"job_id": "{n}", "identifiers": {"n": "int"}}}
        today.define(apps)
        today.submit("a", "7")
        today.finish("a/7")
        found = office.asks("--apps", office.defines(apps), "freshness", "a", "007")
        assert list(found["freshness"]["a"]) == ["7"]

    def test_keys_are_filtered_by_age_and_limited_in_number(self, office: Clerk, today: World) -> None:
        apps = {"a": {"job_id": "{x}"}}
        today.define(apps)
        source = office.defines(apps)
        for key in ("1", "2"):
            today.submit("a", key)
            today.finish(f"a/{key}")
        pass_time(today, 7)
        today.submit("a", "3")
        today.finish("a/3")

        def told(*words: str) -> list[str]:
            return list(office.asks("--apps", source, "freshness", "a", *words)["freshness"]["a"])

        assert told("--older-than", "6h") == ["1", "2"]
        assert told("--older-than", "8h") == []
        assert told("1", "3", "--older-than", "6h") == ["1"]
        assert told("--limit", "2") == ["1", "2"]
        more = "There may be more; --limit shows more than 2."
        assert more in office.types("--apps", source, "freshness", "a", "--limit", "2").err
        assert more not in office.types("--apps", source, "freshness", "a", "--limit", "3").err

    def test_a_plan_uses_the_times_that_the_command_lists(self, office: Clerk, today: World) -> None:
        apps = {
            "a": {"job_id": "{x}"},
            "c": {"job_id": "{x}", "depends_on": {"app_name": ["a"], "max_lag": "6h"}},
        }
        today.define(apps)
        source = office.defines(apps)
        today.submit("a", push="wanted")
        today.finish("a")
        for hours, runs in ((3, ["c"]), (4, ["a", "c"])):
            pass_time(today, hours)
            facts = office.writes("facts.json", json.dumps(office.asks("--apps", source, "freshness", "a")))
            for known in ([], ["--facts", facts]):
                document = office.asks("--apps", source, "plan", "c", "1", *known)
                assert [job["app"] for job in document["jobs"]] == runs


class TestWorkIds:
    def test_work_ids_with_the_same_time_are_listed_together(self, office: Clerk, today: World) -> None:
        apps = definitions("A=3")
        today.define(apps)
        source = office.defines(apps)
        today.submit("A", None, work_ids="1-7")
        first, *rest = [f"A/{job.key}" for job in recorded(today).values()]
        for job in rest:
            today.finish(job)
        pass_time(today, 7)
        today.finish(first)
        lines = office.reads("--apps", source, "freshness", "A", "--work-ids", "1-9")
        assert [line.split()[0] for line in lines] == ["work", "8-9", "4-7", "1-3", "Its"]
        assert "never" in lines[1]
        assert lines[2].endswith("7 h 0 min")
        assert lines[4].startswith("Its last submission that succeeded ended ")
        then, now = iso(today.now - timedelta(hours=7)), iso(today.now)
        found = office.asks("--apps", source, "freshness", "A")
        times = {str(each): now if each < 4 else then for each in range(1, 8)}
        assert found == {"freshness": {"A": times}, "runs": {"A": now}}

    def test_texts_are_work_ids_too(self, office: Clerk, today: World) -> None:
        apps = definitions("A=3")
        today.define(apps)
        source = office.defines(apps)
        today.submit("A", None, work_ids=[1, 2, "north", "x7"])
        for job in recorded(today).values():
            today.finish(f"A/{job.key}")
        assert office.reads("--apps", source, "freshness", "A")[1].split()[0] == "1-2,north,x7"
        named = office.asks("--apps", source, "freshness", "A", "--work-ids", "north,south")
        assert list(named["freshness"]["A"]) == ["north"]

    def test_work_ids_are_filtered_by_age_and_limited_in_number(self, office: Clerk, today: World) -> None:
        apps = definitions("A")
        today.define(apps)
        source = office.defines(apps)
        old, new = timedelta(hours=7), timedelta(hours=1)
        remember(today, {"A": {each: old if each % 2 else new for each in range(1, 7)}}, {})

        def told(*words: str) -> list[str]:
            return list(office.asks("--apps", source, "freshness", "A", *words)["freshness"]["A"])

        assert told("--older-than", "6h") == ["1", "3", "5"]
        assert told("--work-ids", "1-4", "--older-than", "6h") == ["1", "3"]
        assert told("--limit", "4") == ["1", "2", "3", "4"]
        said = office.types("--apps", source, "freshness", "A", "--limit", "4")
        assert "There may be more; --limit shows more than 4." in said.err
        assert office.types("--apps", source, "freshness", "A", "--limit", "6").err == ""

    @pytest.mark.parametrize("name", AS_FACTS)
    def test_a_plan_on_the_printed_facts_is_the_plan_on_the_ledger(
        self, office: Clerk, world: World, name: str
    ) -> None:
        told = CASES[name]
        world.define(definitions(told.apps))
        remember(world, ages(told.known), ages_of_runs(told.ran))
        source = office.defines(world.defined)
        facts: dict[str, Any] = {"freshness": {}, "runs": {}}
        for app in world.defined:
            found = office.asks("--apps", source, "freshness", app)
            facts = {word: facts[word] | found[word] for word in facts}
        known = ("--facts", office.writes("facts.json", json.dumps(facts)), "--now", world.now.isoformat())
        assert_as_told(office.asks("--apps", source, "plan", *options_of(told), *known), told)

    def test_results_are_listed_separately_by_the_kwargs_for_freshness(
        self, office: Clerk, today: World
    ) -> None:
        apps = definitions("B=3: A; A=3 by=region")
        today.define(apps)
        source = office.defines(apps)
        for region, hours in (("eu", 2), ("us", 0)):
            today.submit("A", None, work_ids="1-3", kwargs={"region": region})
            (job,) = (job.key for job in recorded(today).values() if job.state is State.READY)
            today.finish(f"A/{job}")
            pass_time(today, hours)
        found = office.asks("--apps", source, "freshness", "A")
        eu, us = iso(today.now - timedelta(hours=2)), iso(today.now)
        by = {'{"region":"eu"}': eu, '{"region":"us"}': us}
        assert found == {
            "freshness": {"A": {mark: dict.fromkeys("123", at) for mark, at in by.items()}},
            "runs": {"A": by},
        }
        lines = office.reads("--apps", source, "freshness", "A")
        assert [line.split()[:2] for line in lines[1:3]] == [["region=eu", "1-3"], ["region=us", "1-3"]]
        known = ("--facts", office.writes("facts.json", json.dumps(found)))
        for facts in ([], known):
            for region, runs in (("eu", ["A", "B"]), ("us", ["B"]), ("asia", ["A", "B"])):
                kwargs = ("--kwargs", json.dumps({"region": region}))
                document = office.asks("--apps", source, "plan", "B", "--work-ids", "1-3", *kwargs, *facts)
                assert [job["app"] for job in document["jobs"]] == runs


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["by_chunks"], "There is no app 'by_chunks' (did you mean by_chunk?)"),
        (["by_chunk", "1-3"], "by_chunk is keyed by chunk; its keys do not name work IDs"),
        (["by_key", "--work-ids", "1-3"], "by_key has keys like"),
        (["by_chunk", "--work-ids", "3-1"], "The work IDs cannot be read: '3-1' ends before it begins"),
        (["by_key", "1_2", "x"], "is not a key of by_key"),
    ],
)
def test_an_invalid_query_is_refused_with_its_reason(clerk: Clerk, words: list[str], told: str) -> None:
    source = clerk.defines(
        {
            "by_chunk": {"chunk_size": 2, "bash_cmd": "true"},
            "by_key": {"job_id": "{n}", "identifiers": {"n": "int"}},
        }
    )
    said = clerk.types("--apps", source, "freshness", *words)
    assert (said.code, told in said.err) == (2, True), said.err


def test_an_age_that_cannot_be_read_is_refused(clerk: Clerk) -> None:
    said = clerk.types("freshness", "a", "--older-than", "soon")
    assert (said.code, "'soon' is neither a time nor a duration" in said.err) == (2, True), said.err
