"""Properties of flights with any answers of their steps and any crashes of their workers."""

import logging
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from sluice import Fatal, Rerun, Retry, Stop, Success, Wait, retry
from sluice.jobs.sagas.journal import Direction, EntryResult
from sluice.jobs.sagas.result import FlightEnd
from tests.jobs.sagas.air import Air, Raised, raise_or_return

NAMES = "a b c d"

_RETURNED = st.sampled_from([None, Success, Retry, Fatal, Rerun, Stop, Wait, Wait("x", timeout=1)])
_RAISED = st.sampled_from([ValueError("x"), SystemExit(), Retry("busy"), Fatal("no")]).map(Raised)
_DONE = st.sampled_from([None, Success, Stop, Rerun, Wait])
#: One call of a step: its answer, and whether its worker dies or must stop during the call.
_CALL = st.tuples(_RETURNED | _RAISED | _DONE, st.sampled_from(["", "", "", "dies", "leaves"]))
_CALLS = st.lists(_CALL, max_size=4)
_SCRIPTS = st.fixed_dictionaries(
    {f"{what} {name}": _CALLS for what in ("do", "undo") for name in NAMES.split()}
)
_RULE = st.sampled_from([retry.none(), retry.fixed(1, 2), retry.exponential(1, 4, 5)])


class Story:
    """One flight, run to its end. Events that it waits for arrive, and a failed undo is run again."""

    def __init__(self, scripts: dict[str, list[Any]], rule: Any, turns_back_at: int | None) -> None:
        self.air = Air(NAMES)
        self.air.log = logging.Logger("without handlers")
        self.air.rules = dict.fromkeys(NAMES.split(), rule)
        self.air.scripts = {what: [self._act(*each) for each in calls] for what, calls in scripts.items()}
        self.ends: list[FlightEnd] = []
        while not self.ends or self.ends[-1] not in {FlightEnd.SUCCEEDED, FlightEnd.UNDONE}:
            assert len(self.ends) < 200, "the flight has not ended after 200 runs"
            if len(self.ends) == turns_back_at:
                self.air.journal.abort_reason = "it was cancelled"
            self.ends.append(self.air.fly().how)
            if self.ends[-1] is FlightEnd.SUSPENDED:
                self.air.journal.tell(None)

    @property
    def how(self) -> FlightEnd:
        return self.ends[-1]

    @property
    def may_be_beyond(self) -> set[int]:
        """Possible distances, in steps, of the first undo beyond the last do. It may be 1 if the flight was aborted,
        because the run that picks it up cannot know whether the next step has begun.
        """
        return {0} if self.air.journal.abort_reason is None else {0, 1}

    def steps(self, what: str) -> list[int]:
        """Return the indices of the steps with this call, ``do`` or ``undo``, in order."""
        calls = [call.split() for call in self.air.calls]
        return [NAMES.split().index(name) for each, name in calls if each == what]

    def _act(self, answer: Any, fate: str) -> Any:
        def act(flight: Any) -> Any:
            if fate == "dies":
                self.air.crash(flight)
            if fate == "leaves":
                self.air.stop(flight)
            return raise_or_return(answer)

        return act


_STORIES = st.builds(Story, _SCRIPTS, _RULE, st.none() | st.integers(0, 3))


@given(_STORIES)
@example(Story({"do a": [(Fatal, "dies"), (Fatal, "")]}, retry.none(), None))
@example(Story({"do c": [(Fatal, "")], "undo b": [(Fatal, ""), (Retry, "leaves")]}, retry.none(), None))
def test_dos_go_forward_and_undos_go_back_from_the_failed_step(story: Story) -> None:
    dos, undos = story.steps("do"), story.steps("undo")
    assert dos == sorted(dos)
    assert undos == sorted(undos, reverse=True)
    assert set(dos) == set(range(len(set(dos))))
    first_undo = next(
        (at for at, call in enumerate(story.air.calls) if call.startswith("undo")), len(story.air.calls)
    )
    assert all(call.startswith("undo") for call in story.air.calls[first_undo:])
    if undos:
        assert undos[0] - max(dos, default=-1) in story.may_be_beyond


@given(_STORIES)
def test_every_flight_is_completed_or_all_its_begun_steps_are_undone(story: Story) -> None:
    begun, undone = set(story.steps("do")), set(story.steps("undo"))
    if story.how is FlightEnd.SUCCEEDED:
        assert (begun, undone) == ({0, 1, 2, 3}, set())
    else:
        assert begun <= undone
        assert len(undone - begun) in story.may_be_beyond


@given(_STORIES)
def test_the_journal_goes_forward_then_back_and_is_numbered_without_gaps(story: Story) -> None:
    entries = story.air.journal.entries
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    switches = [at for at, entry in enumerate(entries) if entry.direction is Direction.SWITCH]
    assert len(switches) == (1 if story.how is FlightEnd.UNDONE else 0)
    turn = switches[0] if switches else len(entries)
    assert all(entry.direction is Direction.DO for entry in entries[:turn])
    assert all(entry.direction is Direction.UNDO for entry in entries[turn + 1 :])
    up, down = ([entry.step for entry in part] for part in (entries[:turn], entries[turn:]))
    assert up == sorted(up)
    assert down == sorted(down, reverse=True)
    assert all(
        entry.failure
        for entry in entries
        if entry.result is EntryResult.UNDO_FAILED or entry.direction is Direction.SWITCH
    )


@given(_STORIES)
def test_another_run_of_a_finished_flight_changes_nothing(story: Story) -> None:
    called, entries = story.air.called, story.air.journal.entries.copy()
    assert story.air.fly().how is story.how
    assert (story.air.called, story.air.journal.entries) == (called, entries)
