"""Checks at drawn times, with outages and pauses between them, against a plain reading of docs/schedules.md."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sluice.jobs.schedules.schedule import FiringOutcome, OpenRuns, Overlapping, StoredSchedule
from sluice.scheduler.evaluate import settle
from tests.scheduler.calendar import at
from tests.scheduler.entries import schedule_of

START = at("2026-01-01 00:00")
#: By rule: the distance of its due times, and the first one.
RULES = {
    "cron": ({"cron": "0 2 * * *"}, timedelta(days=1), at("2026-01-01 02:00")),
    "every": ({"every": "6h"}, timedelta(hours=6), START),
}
PUNCTUAL = timedelta(seconds=15)
EVER = timedelta.max
GRACES: dict[Any, timedelta] = {"20m": timedelta(minutes=20), "30h": timedelta(hours=30), None: EVER}

#: Hours between two checks: some are punctual, some follow an outage of days.
gaps = st.lists(
    st.tuples(
        st.one_of(st.floats(0, 0.01), st.floats(0, 30), st.floats(0, 300)),
        st.sampled_from(["", "", "pause", "resume"]),
    ),
    min_size=1,
    max_size=8,
)
options = st.fixed_dictionaries(
    {},
    optional={
        "misfire_grace": st.sampled_from([*GRACES]),
        "catch_up": st.sampled_from(["none", "last", "all", 1, 3]),
    },
)


def grace_of(rule: str, words: dict[str, Any]) -> timedelta:
    """Return the longest delay with which a due time is fired."""
    if words.get("catch_up") == "none":
        return PUNCTUAL
    if "misfire_grace" in words:
        return GRACES[words["misfire_grace"]]
    is_unlimited = rule == "cron" or words.get("catch_up") in ("all", 1, 3)
    return EVER if is_unlimited else timedelta(minutes=30)


def explained(
    due_times: Iterable[datetime], now: datetime, grace: timedelta, taken: int
) -> dict[datetime, FiringOutcome]:
    """Return the outcomes of due times that one check handles, outside pauses."""
    expected: dict[datetime, FiringOutcome] = {}
    left = taken
    for due in sorted(due_times, reverse=True):
        if now - due > grace:
            expected[due] = FiringOutcome.MISSED
        else:
            expected[due] = FiringOutcome.FIRED if left else FiringOutcome.COALESCED
            left = max(left - 1, 0)
    return expected


@given(st.sampled_from([*RULES]), options, st.floats(0, 40), gaps)
def test_outages_and_pauses_have_the_documented_outcomes(
    rule: str, words: dict[str, Any], begins_h: float, checks: list[tuple[float, str]]
) -> None:
    written, step, due = RULES[rule]
    schedule = schedule_of(**written, **words)
    grace, catch_up = grace_of(rule, words), words.get("catch_up", "last")
    taken = 10_000 if catch_up == "all" else catch_up if isinstance(catch_up, int) else 1
    now = START + timedelta(hours=begins_h)
    stands: StoredSchedule = settle(schedule, None, now, OpenRuns(), Overlapping(None)).standing
    while due <= now:
        # The schedule did not exist at these due times.
        due += step
    for hours, act in checks:
        if act == "pause":
            stands = replace(stands, paused_at=stands.paused_at or now)
        elif act == "resume" and stands.paused_at:
            stands = replace(stands, paused_at=None, resumed_at=now)
        now += timedelta(hours=hours)
        come = []
        while due <= now:
            come.append(due)
            due += step
        asleep = {
            each for each in come if stands.paused_at or (stands.resumed_at and each <= stands.resumed_at)
        }
        expected = dict.fromkeys(asleep, FiringOutcome.PAUSED)
        expected |= explained({*come} - asleep, now, grace, taken)
        settled = settle(schedule, stands, now, OpenRuns(), Overlapping(None))
        assert {each.due: each.outcome for each in settled.firings} == expected
        stands = settled.standing
        assert stands.next_due == due
