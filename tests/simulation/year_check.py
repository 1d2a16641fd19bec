"""Check that each due time of a simulated year was fired once, or has the outcome that its policy explains.

Due times come from a walk through every minute, and outcomes from a few lines about each entry. No code of the
scheduler is used.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby, pairwise

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.schedules.schedule import FiringOutcome
from sluice.ledger.reads import submission_progress
from sluice.ledger.reads.schedule_states import FiringRecord
from sluice.ledger.recovery.invariants import breaches
from sluice.scheduler.overlap import QUEUED_MAX
from tests.simulation.year import Year
from tests.simulation.year_entries import ENTRIES

JITTER = timedelta(minutes=40)


def check(year: Year) -> int:
    """Check the year. Return the number of due times. AssertionError if anything is wrong."""
    found = {id_: year.firings(id_) for id_ in ENTRIES}
    for id_, firings in found.items():
        _check_times(year, id_, [each.due for each in firings])
    for id_ in ENTRIES.keys() - {"paused", "skipping", "queueing", "replacing"}:
        _check_outcomes(year, id_, found[id_])
    _check_paused(year, found["paused"])
    _check_skipping(year, found["skipping"])
    _check_queueing(year, found["queueing"])
    _check_replacing(year, found["replacing"])
    _check_submissions(year, [each for firings in found.values() for each in firings])
    assert year.plain.transact(breaches) == []
    return sum(map(len, found.values()))


def _check_times(year: Year, id_: str, due: list[datetime]) -> None:
    """Check that there are only right due times, and that each due time which had to be handled was handled."""
    assert sorted(set(due)) == due
    expected = list(_expected(year, id_))
    assert not set(due) - set(expected), (id_, sorted(set(due) - set(expected)))
    missing = [each for each in expected if each not in set(due) and _must_be_seen(year, id_, each)]
    assert not missing, (id_, missing)


def _expected(year: Year, id_: str) -> Iterator[datetime]:
    began = min(year.looks[0], year.changes[0])
    if id_ == "edited":
        named = {_rule_text(version.rule): version for version in ENTRIES[id_].versions}
        for rule, (since, until) in zip(year.versions, pairwise([*year.changes, year.end]), strict=True):
            yield from (
                each for each in named[rule].due_times(_minute(since), year.end) if since < each <= until
            )
        return
    (version,) = ENTRIES[id_].versions
    times = version.due_times(_minute(began), year.end)
    if id_ == "leaving":
        yield from (each for each in times if bisect_left(year.presences, each) % 2)
    else:
        yield from (each for each in times if each > began)


def _must_be_seen(year: Year, id_: str, due: datetime) -> bool:
    """Return whether a schedule check ran after this due time, and before it was too late for it."""
    last = year.looks[-1]
    if id_ == "jittered":
        due += JITTER
    if id_ == "leaving":
        place = bisect_left(year.presences, due)
        leaves = year.presences[place] if place < len(year.presences) else year.end
        return due <= _first_look(year, due) < leaves
    return due <= last


def _check_outcomes(year: Year, id_: str, firings: list[FiringRecord]) -> None:
    for at, batch in _batches(firings):
        told = {each.due: each.outcome for each in batch}
        assert told == ENTRIES[id_].explained([*told], at), (id_, at, told)
        if id_ != "jittered":
            _check_prompt(year, id_, batch[0].due, at)


def _check_paused(year: Year, firings: list[FiringRecord]) -> None:
    for at, batch in _batches(firings):
        is_paused = any(since <= at < until for since, until in year.pauses)
        resumed = max((until for _, until in year.pauses if until <= at), default=year.first)
        for each in batch:
            expected = FiringOutcome.PAUSED if is_paused or each.due <= resumed else FiringOutcome.FIRED
            assert each.outcome is expected, (each, year.pauses)
        _check_prompt(year, "paused", batch[0].due, at)


def _check_skipping(year: Year, firings: list[FiringRecord]) -> None:
    open_until = year.first
    for at, batch in _batches(firings):
        expected = ENTRIES["skipping"].explained([each.due for each in batch], at)
        for each in batch:
            is_chosen = expected[each.due] is FiringOutcome.FIRED
            wanted = FiringOutcome.SKIPPED if is_chosen and at < open_until else expected[each.due]
            assert each.outcome is wanted, (each, open_until)
            if each.submission:
                open_until = year.ends.get(each.submission, year.end)
        _check_prompt(year, "skipping", batch[0].due, at)


def _check_queueing(year: Year, firings: list[FiringRecord]) -> None:
    """Check that submissions run in order, one after another, and each as soon as possible."""
    free = year.first
    for place, each in enumerate(firings):
        if each.outcome is FiringOutcome.FIRED:
            assert each.at >= free, (each, free)
            _check_prompt(year, "queueing", max(each.due, free), each.at)
            free = year.ends.get(str(each.submission), year.end)
        elif each.outcome is FiringOutcome.QUEUED:
            assert all(later.outcome is not FiringOutcome.FIRED for later in firings[place:])
        else:
            assert each.outcome is FiringOutcome.SKIPPED, each
            before = [other for other in firings[:place] if other.at >= each.at or not other.submission]
            assert len(before) >= QUEUED_MAX, each


def _check_replacing(year: Year, firings: list[FiringRecord]) -> None:
    for at, batch in _batches(firings):
        told = {each.due: each.outcome for each in batch}
        assert told == ENTRIES["replacing"].explained([*told], at), (at, told)
    fired = [each for each in firings if each.submission]
    for each, following in pairwise(fired):
        status = year.plain.transact(lambda tx, id_=str(each.submission): submission_progress.status(tx, id_))
        assert status is not None
        assert status.ended_at == year.ends.get(str(each.submission), following.at), (each, following)


def _check_submissions(year: Year, firings: Sequence[FiringRecord]) -> None:
    """Check that exactly the fired due times have a submission, and that each of these was planned."""
    made = year.plain.transact(lambda tx: submission_progress.recent(tx, 1_000_000))
    assert sorted(each.id for each in made) == sorted(
        str(each.submission) for each in firings if each.submission
    )
    assert SubmissionState.RECEIVED not in {each.state for each in made}


def _check_prompt(year: Year, id_: str, due: datetime, at: datetime) -> None:
    """Check that the first completed schedule check after a due time has handled it."""
    assert due <= at <= _first_look(year, due), (id_, due, at)


def _first_look(year: Year, since: datetime) -> datetime:
    place = bisect_left(year.looks, since)
    return year.looks[place] if place < len(year.looks) else year.end


def _batches(firings: Sequence[FiringRecord]) -> Iterator[tuple[datetime, list[FiringRecord]]]:
    """Group due times that were handled together."""
    for at, batch in groupby(firings, key=lambda each: each.at):
        yield at, list(batch)


def _minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def _rule_text(rule: dict[str, str]) -> str:
    return rule["cron"] if "cron" in rule else f"every {rule['every']}"
