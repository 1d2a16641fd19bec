"""Schedules in documents and in Python, and every kind of fault in them."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.fields.schedule_options import WORDS
from sluice.jobs.catalogue.sources.changes import snapshot
from sluice.jobs.model.submission import Submission
from sluice.jobs.schedules.schedule import Every, Schedule, UserTrigger
from tests.jobs.catalogue.faults_of_schedules import APPS, FAULTS_OF_SCHEDULES, SOUND, timed
from tests.jobs.catalogue.sources import faults, write
from tests.jobs.catalogue.test_nonsense import VALUES
from tests.planner.definitions import catalogue_of, faults_of

DUE = datetime(2026, 3, 29, 1, 0, tzinfo=UTC)
YAML = """
    daily: {job_id: "{date}", identifiers: {date: date}}
    schedules:
      - {id: early, app: daily, key: "{due-1d:%Y%m%d}", cron: "30 2 * * *", timezone: Europe/Berlin}
      - {id: often, app: daily, key: 2026-01-01, every: 5m, catch_up: 3, overlap: queue}
"""
TOML = """
    [daily]
    job_id = "{date}"
    [schedules.early]
    app = "daily"
    cron = "@daily"
"""
PYTHON = """
    from datetime import UTC, datetime
    from sluice import app, schedule

    class Once:
        def get_next_fire_time(self, previous, now):
            return None if previous else datetime(2026, 5, 5, tzinfo=UTC)
        def __str__(self):
            return "once"

    @app(job_id="{date}", identifiers={"date": "date"})
    def daily(date): ...

    early = schedule(id="early", app=daily, key="{due:%Y%m%d}", cron="0 2 * * *")
    also_early = early
    more = [
        schedule(id="often", app="daily", key="{due:%Y%m%d}", every=300, jitter="10s"),
        schedule(id="once", app=daily, key="{due:%Y%m%d}", trigger=Once(), misfire_grace=None),
    ]
"""


def schedule_of(document: dict[str, Any]) -> Schedule:
    return catalogue_of(document).schedules["s"]


@pytest.mark.parametrize("fault", FAULTS_OF_SCHEDULES)
def test_each_fault_of_a_schedule_is_reported_once(fault: str) -> None:
    document, words = FAULTS_OF_SCHEDULES[fault]
    found = faults_of(document)
    assert any(words in what for _, what in found), found
    assert len(found) == 1, "one mistake, one fault"


def test_all_faults_of_schedules_and_apps_are_reported_at_once() -> None:
    both = {**timed(cron="x", overlap="y", every=0), "broken": {"job_id": "date"}}
    assert len(faults_of(both)) == 5


def test_a_faulty_app_is_not_also_a_fault_of_its_schedule() -> None:
    document = timed(app="broken", key="whatever")
    assert [app for app, _ in faults_of({**document, "broken": {"job_id": "date"}})] == ["broken"]


@given(st.fixed_dictionaries({}, optional=dict.fromkeys([*WORDS, "id", "x"], VALUES)) | VALUES, VALUES)
def test_a_nonsense_schedule_is_reported_as_faults(words: Any, id_: Any) -> None:
    for document in ({"s": words}, [{"id": id_, **words}] if isinstance(words, dict) else words):
        for given_ in (document, {"s": {**SOUND, **words}} if isinstance(words, dict) else document):
            assert all(what for _, what in faults_of({**APPS, "schedules": given_}))


def test_a_minimal_schedule_has_these_defaults() -> None:
    schedule = schedule_of(timed())
    assert schedule.zone == ZoneInfo("UTC")
    assert (schedule.misfire_grace_s, schedule.catch_up, schedule.overlap, schedule.jitter_s) == (
        None,
        "last",
        None,
        0,
    )
    assert schedule.submission(DUE, "x") == Submission(app="daily", key="20260329", id="x")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, None),
        ({"catch_up": "last"}, None),
        ({"cron": ..., "every": "1h"}, 1800.0),
        ({"cron": ..., "every": "1h", "catch_up": "none"}, 1800.0),
        ({"cron": ..., "every": "1h", "catch_up": "all"}, None),
        ({"cron": ..., "every": "1h", "catch_up": 2}, None),
        ({"catch_up": "all", "misfire_grace": "1h"}, 3600.0),
        ({"misfire_grace": None}, None),
        ({"misfire_grace": 0}, 0.0),
    ],
)
def test_the_default_misfire_grace_depends_on_rule_and_catch_up(
    words: dict[str, Any], expected: float | None
) -> None:
    assert schedule_of(timed(**words)).misfire_grace_s == expected


def test_due_times_in_texts_are_in_the_zone_of_the_schedule() -> None:
    schedule = schedule_of(
        timed(
            timezone="Europe/Berlin",
            key="{due-1d:%Y%m%d}",
            kwargs={"at": "{due}", "deep": [{"hour": "{due-1h:%H}"}], "n": 7, "braces": "{{due}}"},
            policy={"end_before": "{due+6h}", "priority": 3},
            user="night",
            push="wanted",
        )
    )
    assert schedule.submission(DUE, "x") == Submission(
        app="daily",
        key="20260328",
        id="x",
        kwargs={"at": "2026-03-29T03:00:00+02:00", "deep": [{"hour": "01"}], "n": 7, "braces": "{due}"},
        policy={"end_before": "2026-03-29T09:00:00+02:00", "priority": 3},
        user="night",
        push="wanted",
    )


def test_due_times_are_filled_into_keys_and_work_ids() -> None:
    keys = schedule_of(timed(app="shops", key=..., keys=["{due:%Y%m%d}_graz", "{due:%Y%m%d}_oslo"]))
    assert keys.submission(DUE, "x").keys == ("20260329_graz", "20260329_oslo")
    chunks = schedule_of(timed(app="chunks", key=..., work_ids=[[1, 3], "north-{due:%d}"]))
    assert chunks.submission(DUE, "x").work_ids == [[1, 3], "north-29"]
    assert (
        schedule_of(timed(app="chunks", key=..., work_ids="1-3,7")).submission(DUE, "x").work_ids == "1-3,7"
    )


def test_due_times_are_filled_into_ranges_of_partitions() -> None:
    days = schedule_of(timed(app="days", key=..., start="{due-7d:%Y%m%d}", end="{due-1d:%Y-%m-%d}"))
    asked = days.submission(DUE, "x")
    assert (asked.start, asked.end) == ("20260322", "2026-03-28")
    assert schedule_of(timed(app="days", key="{due-7d:%Y%m%d}..{due:%Y%m%d}")).submission(DUE, "x").key == (
        "20260322..20260329"
    )


@pytest.mark.parametrize(
    ("words", "rerun"),
    [
        ({}, None),
        ({"key": "20260101"}, "job"),
        ({"key": "20260101", "rerun": None}, None),
        ({"key": "20260101", "rerun": "downstream"}, "downstream"),
        ({"key": ...}, "job"),
        ({"key": "{due:%Y%m%d}", "rerun": "job"}, "job"),
        ({"app": "chunks", "key": ...}, None),
        ({"app": "days", "key": ..., "start": "20260101", "end": "20260107"}, None),
        ({"key": ..., "start": "20260101", "end": "20260107"}, "job"),
        ({"key": ..., "start": "20260101", "end": "{due:%Y%m%d}"}, None),
    ],
)
def test_a_schedule_with_a_constant_key_reruns_its_job_each_time(
    words: dict[str, Any], rerun: str | None
) -> None:
    assert schedule_of(timed(**words)).wanted.rerun == rerun


def test_a_key_may_be_valid_for_only_some_due_times() -> None:
    weekdays = {"w": {"job_id": "{day}", "identifiers": {"day": ["Mon", "Fri"]}}}
    document = {**weekdays, "schedules": {"s": {"app": "w", "key": "{due:%a}", "cron": "0 0 * * *"}}}
    assert faults_of(document) == []
    document["schedules"]["s"]["cron"] = "0 0 * * tue"
    assert len(faults_of(document)) == 1


@pytest.mark.parametrize(
    "words",
    [
        {"cron": "1 2 * * *"},
        {"timezone": "Europe/Berlin"},
        {"app": "shops", "key": "{due:%Y%m%d}_graz"},
        {"kwargs": {"a": 1}},
        {"overlap": "skip"},
        {"misfire_grace": 7},
        {"catch_up": 2, "misfire_grace": 1800},
        {"jitter": 1},
        {"policy": {"priority": 1}},
        {"rerun": "job"},
    ],
)
def test_a_changed_option_changes_the_digest_of_a_schedule(words: dict[str, Any]) -> None:
    assert schedule_of(timed(**words)).digest != schedule_of(timed()).digest == schedule_of(timed()).digest


@pytest.mark.usefixtures("here")
class TestSources:
    def test_schedules_are_a_list_in_yaml_and_a_mapping_in_toml(self) -> None:
        schedules = load([write("a.yaml", YAML)]).schedules
        assert [*schedules] == ["early", "often"]
        assert schedules["early"].zone.key == "Europe/Berlin"
        assert (schedules["often"].rule, schedules["often"].wanted.key) == (Every(300), "2026-01-01")
        assert load([write("a.toml", TOML)]).schedules["early"].wanted == Submission(app="daily", rerun="job")

    def test_schedules_in_python_may_be_variables_or_in_a_list(self) -> None:
        catalogue = load([write("flow.py", PYTHON)])
        assert [*catalogue.schedules] == ["early", "often", "once"]
        rule = catalogue.schedules["once"].rule
        assert isinstance(rule, UserTrigger)
        assert rule.text.startswith("trigger ")
        assert rule.text.endswith("Once: once")
        assert catalogue.schedules["often"].jitter_s == 10

    def test_the_same_trigger_has_the_same_digest_in_every_load(self) -> None:
        path = write("flow.py", PYTHON)
        first, second = (load([path]).schedules["once"].digest for _ in range(2))
        assert first == second

    @pytest.mark.parametrize("words", ["raise KeyError('x')", "return 'a\\0b'"])
    def test_a_trigger_without_a_usable_text_is_a_fault(self, words: str) -> None:
        ((_, _, what),) = faults(write("flow.py", PYTHON.replace('return "once"', words)))
        assert what.startswith("schedules.once: trigger: the trigger cannot be converted to text: ")

    def test_a_source_may_contain_only_schedules(self) -> None:
        write("acme/flow.py", PYTHON)
        write(
            "acme/times.py", "from sluice import schedule\nx = schedule(id='x', app='daily', cron='@daily')"
        )
        assert "x" in load(["acme"]).schedules
        write("apps.json", '{"daily": {"job_id": "{date}"}}')
        alone = write("times.json", '{"schedules": [{"id": "y", "app": "daily", "every": 60}]}')
        assert "y" in load(["apps.json", alone]).schedules
        assert faults(alone) == [("times.json", "", "schedules.y: app: there is no app 'daily'")]

    def test_a_schedule_that_two_modules_export_is_one_schedule(self) -> None:
        write("acme/__init__.py", "from acme.flow import daily, early, more")
        write("acme/flow.py", PYTHON)
        assert [*load(["acme", "acme.flow"]).schedules] == ["early", "often", "once"]

    def test_two_sources_cannot_define_the_same_schedule_id(self) -> None:
        one = write("one.toml", TOML)
        two = write("two.json", '{"schedules": [{"id": "early", "app": "daily", "every": 60}]}')
        assert faults(one, two) == [("two.json", "", "schedules.early: it is defined in one.toml already")]

    def test_a_source_is_called_by_its_absolute_path_or_address(self) -> None:
        write("acme/flow.py", PYTHON)
        path = write(
            "a.yaml", YAML.replace("early", "earlier").replace("daily", "nightly").replace("often", "x")
        )
        catalogue = load([path, "acme"])
        assert all(source.startswith("/") for source in catalogue.sources)
        assert {each.source for each in catalogue.schedules.values()} == {*catalogue.sources}
        stored = {"redis://user:secret@host/0/k": '{"a": {"job_id": "{x}"}}'}
        assert load([*stored], fetch=stored.__getitem__).sources == ("redis://host/0/k",)

    def test_a_module_as_a_source_is_called_by_its_name(self) -> None:
        write("acme_times/__init__.py", PYTHON)
        assert load(["acme_times"]).sources == ("acme_times",)

    def test_an_edited_schedule_changes_the_snapshot_of_the_source(self) -> None:
        path = write("a.toml", TOML)
        before = snapshot([path], lambda address: address)
        write("a.toml", TOML.replace("@daily", "@hourly"))
        assert snapshot([path], lambda address: address) != before

    def test_the_repr_of_a_schedule_shows_its_id(self) -> None:
        from sluice import schedule  # noqa: PLC0415 - as users import it

        assert repr(schedule(id="x", app="a", cron="@daily")) == "<schedule x>"
