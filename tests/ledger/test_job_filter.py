"""Listing of jobs by conditions: comparisons by value and by type, and missing values."""

from datetime import UTC, datetime, timedelta

import pytest

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.key_fields import key_readings
from sluice.jobs.states import State
from sluice.jobs.text.filter_parser import parse_condition
from sluice.jobs.text.filters import And, Compare, Condition, Field, Input, Not, Operator, Or
from sluice.jobs.text.paging import Order
from sluice.ledger.reads import job_lists
from sluice.ledger.reads.job_filters import JobFilter
from tests.ledger.listed_jobs import DAY, There, there
from tests.world import World, catalogue_of

H = timedelta(hours=1)
APPS = {
    "trip": {
        "job_id": "{date}_{seats}_{city}",
        "identifiers": {"date": "date", "seats": [1, 2, 10]},
        "bash_cmd": "true",
    },
    "order": {"job_id": "{id}", "identifiers": {"id": "int"}, "bash_cmd": "true"},
    "note": {"job_id": "{id}", "function": "json:dumps"},
}
READINGS = key_readings(catalogue_of(APPS))
JOBS = [
    There(app="order", key="5", kwargs={"num": 5, "tag": "b", "box": {"w": 1, "h": [1, 2]}}),
    There(app="order", key="10", kwargs={"num": 10, "tag": "a", "box": {"h": [1, 2], "w": 1.0}}),
    There(app="order", key="9", kwargs={"num": "9", "tag": "é", "dry": True}, state=State.FAILED, round=2),
    There(app="note", key="9", kwargs={"num": 9.5, "tag": None, "dry": "true"}, state=State.FATAL),
    There(app="trip", key="20260102_2_new_york", kwargs={"num": [9]}, state=State.RUNNING, priority=7),
    There(app="trip", key="20260101_10_oslo", state=State.WAITING),
    There(app="gone", key="20260101_1_oslo", kwargs={"city": "rome", "'; DROP TABLE job; --": 1}),
]
NAMES = ["order/5", "order/10", "order/9", "note/9", "york", "oslo", "gone"]
ALL = " ".join(NAMES)
TIMED = [
    There(app=each.app, key=each.key, state=each.state, round=each.round, priority=each.priority,
          kwargs=each.kwargs, created_at=DAY + n * H, changed_at=DAY + (n + 24) * H)
    for n, each in enumerate(JOBS)
]  # fmt: skip

CASES = [
    # Condition, and the jobs that it finds.
    ("app = order", "order/5 order/10 order/9"),
    ("app != order", "note/9 york oslo gone"),
    ("app in (note, gone)", "note/9 gone"),
    ("app not in (note, order)", "york oslo gone"),
    ("app >= order", "order/5 order/10 order/9 york oslo"),
    ("key = 9", "order/9 note/9"),
    ("key > 20260101_10_oslo", "order/5 order/9 note/9 york gone"),
    ("state in (failed, fatal)", "order/9 note/9"),
    ("state != succeeded and state not in (failed, 'fatal')", "york oslo"),
    ("STATE = running OR State = waiting", "york oslo"),
    ("round > 1", "order/9"),
    ("round in (1, 2) or priority = 7", "order/9 york"),
    ("ended is null", "york oslo"),
    ("ended = null", "york oslo"),
    ("ended is not null", "order/5 order/10 order/9 note/9 gone"),
    ("ended != null and app = order", "order/5 order/10 order/9"),
    # The jobs were created at 0, 1, 2 … o'clock, and changed one day later.
    ("created < 2026-01-01T02:00", "order/5 order/10"),
    ("created >= '2026-01-01 02:00' and created <= 2026-01-01T05:00+01:00", "order/9 note/9 york"),
    ("created = 2026-01-01T03:00Z", "note/9"),
    ("created != 2026-01-01T03:00Z and created in (2026-01-01T03:00, 2026-01-01T04:00)", "york"),
    ("changed > 2026-01-02T05:00", "gone"),
    ("changed > 20h", "york oslo gone"),
    ("ended > 2026-01-02T03:00", "gone"),
    ("ended < 2026-01-02T01:00", "order/5"),
    ("not ended < 2026-01-02T01:00", "order/10 order/9 note/9 york oslo gone"),
    ("ended in (2026-01-02T00:00, null)", "order/5 york oslo"),
    ("ended not in (2026-01-02T00:00, null)", "order/10 order/9 note/9 gone"),
    ("ended != 2026-01-02T00:00", "order/10 order/9 note/9 gone"),
    # Comparisons by value and by type.
    ("inputs.num > 9", "order/10 note/9"),
    ("inputs.num >= 9.5", "order/10 note/9"),
    ("inputs.num < 1e3", "order/5 order/10 note/9"),
    ("inputs.num = 10", "order/10"),
    ("inputs.num = 10.0", "order/10"),
    ("inputs.num = '9'", "order/9"),
    ("inputs.num = 9", ""),
    ("inputs.num < 'z'", "order/9"),
    ("inputs.num in (5, '9', [9], absent)", "order/5 order/9 york"),
    ("inputs.num not in (5, '9')", "order/10 note/9 york"),
    ("inputs.tag > a", "order/5 order/9"),
    ("inputs.tag < z", "order/5 order/10"),
    ("inputs.dry = true", "order/9"),
    ("inputs.dry = 'true'", "note/9"),
    ("inputs.dry = 1", ""),
    ("inputs.dry > false or inputs.box > {} or inputs.num > [1]", ""),
    ('inputs.box = {"w": 1, "h": [1, 2]}', "order/5 order/10"),
    ('inputs.box = {"w": 1, "h": [2, 1]}', ""),
    ("inputs.box.h = [1,2] and inputs.box.w < 2", "order/5 order/10"),
    ("inputs.box.h.w is not null", ""),
    # A comparison is false if the input is missing, unless it is a comparison with null.
    ("inputs.num != 10", "order/5 order/9 note/9 york"),
    ("not inputs.num = 10", "order/5 order/9 note/9 york oslo gone"),
    ("inputs.tag != a", "order/5 order/9 note/9"),
    ("inputs.tag is null", "note/9 york oslo gone"),
    ("inputs.tag = null", "note/9 york oslo gone"),
    ("inputs.tag is not null", "order/5 order/10 order/9"),
    ("inputs.tag != null", "order/5 order/10 order/9"),
    ("inputs.tag in (a, null)", "order/10 note/9 york oslo gone"),
    ("inputs.tag not in (a, null)", "order/5 order/9"),
    ("inputs.absent is null", ALL),
    ("inputs.absent != 1", ""),
    ("inputs.\"'; DROP TABLE job; --\" = 1", "gone"),
    ("inputs.\"%(w0)s\" is null and inputs.'{}' is null", ALL),
    # Identifiers in the key, for apps with known definitions.
    ("inputs.id >= 9 ", "order/10 order/9"),
    ("inputs.id = '9'", "note/9"),
    ("inputs.date = 20260102", "york"),
    ("inputs.date < 20260102", "oslo"),
    ("inputs.seats > 2", "oslo"),
    ("inputs.city in (oslo, rome)", "oslo gone"),
    ("inputs.city = new_york", "york"),
    ("inputs.city != oslo", "york gone"),
    ("inputs.city.x is null", ALL),
    ("type = bash", "order/5 order/10 order/9 york oslo"),
    ("type != bash", "note/9"),
    ("type in (python, saga)", "note/9"),
    ("type not in (python, saga)", "order/5 order/10 order/9 york oslo"),
    # Nested conditions.
    ("app = order and inputs.num = 5 or state = fatal", "order/5 note/9"),
    ("app = order and (inputs.num = 5 or state = failed)", "order/5 order/9"),
    ("not (app = order or state = fatal) and not not ended is null", "york oslo"),
    ("state in (failed, fatal) and (inputs.num > 9 or app = trip) and ended is not null", "note/9"),
]  # fmt: skip


def test_each_condition_finds_exactly_its_jobs(world: World) -> None:
    now = datetime(2026, 1, 2, 23, tzinfo=UTC)
    found = {text: _found(world, parse_condition(text, now)) for text, _ in CASES}
    assert found == {text: set(names.split()) for text, names in CASES}


def test_the_value_of_a_slice_is_an_identifier_of_its_jobs(world: World) -> None:
    sliced = {"bash_cmd": "true", "partition": {"by": {"store": ["graz", "oslo"]}}}
    readings = key_readings(catalogue_of(APPS | {"sales": sliced}))
    oslo, graz = "oslo/2026-01-01@5392d774", "graz/2026-01-02..2026-01-03@5392d774"
    jobs = [
        *(There(app="sales", key=key) for key in (oslo, graz)),
        There(app="order", key="1", kwargs={"store": "oslo"}),
    ]
    with there(world, jobs) as tx:
        for text, keys in (
            ("inputs.store = oslo", {oslo, "1"}),
            ("inputs.store != oslo", {graz}),
            ("app = sales and inputs.store in (graz, oslo)", {oslo, graz}),
            ("inputs.store < h", {graz}),
            ("inputs.store.x is not null", set()),
        ):
            wanted = JobFilter(where=parse_condition(text, DAY), readings=readings)
            assert {job.key for job in job_lists.search(tx, wanted).jobs} == keys, text


def test_an_empty_conjunction_finds_all_jobs_and_an_empty_disjunction_none(world: World) -> None:
    assert _found(world, And(())) == set(NAMES)
    assert _found(world, Or(())) == set()
    assert _found(world, Not(Or((And(()), Or(()))))) == set()


def test_without_definitions_inputs_are_only_kwargs_and_types_are_unknown(world: World) -> None:
    with there(world, TIMED) as tx:
        where = Compare(Input(("city",)), Operator.UNEQUAL, "oslo")
        assert [job.app for job in job_lists.search(tx, JobFilter(where=where)).jobs] == ["gone"]
        by_type = JobFilter(where=Compare(Field.TYPE, Operator.EQUAL, "bash"))
        with pytest.raises(BadRequest, match="known only from its definition"):
            job_lists.search(tx, by_type)


def _found(world: World, where: Condition) -> set[str]:
    named = {(job.app, job.key): name for job, name in zip(TIMED, NAMES, strict=True)}
    with there(world, TIMED) as tx:
        wanted = JobFilter(where=where, readings=READINGS)
        found = job_lists.page(tx, wanted, None, order=Order(), limit=100)
        assert found.total == len(found.jobs)
        ids = {job.id for job in found.jobs}
        assert {job.id for job in job_lists.search(tx, wanted).jobs} == ids
        return {named[job.app, job.key] for job in found.jobs}
