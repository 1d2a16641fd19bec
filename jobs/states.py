"""States of a job and all transitions between them, as data.

Rule: only the verbs listed here write a state, and a verb writes only from the states it lists. The ledger's SQL
guards, its CHECK constraints, the picture in ``docs/states.md`` and the tests are all derived from ``VERBS``. No
other file spells a state's name.
"""

from enum import StrEnum

from msgspec import Struct


class State(StrEnum):
    EXPECTED = "expected"
    WAITING = "waiting"
    READY = "ready"
    RUNNING = "running"
    SUSPENDED = "suspended"
    EXECUTED = "executed"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    FATAL = "fatal"
    TIMED_OUT = "timed_out"
    EXPIRED = "expired"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"
    UPSTREAM_FAILED = "upstream_failed"
    SPLIT = "split"


class By(StrEnum):
    """Component that may carry out a verb."""

    PLANNER = "planner"
    EXECUTOR = "executor"
    GROOMER = "groomer"


class Verb(Struct, frozen=True, kw_only=True):
    """One kind of transition. ``sources`` contains None if the verb may create the job's row."""

    name: str
    sources: frozenset[State | None]
    target: State
    by: frozenset[By]
    when: str

    @property
    def guard(self) -> str:
        """SQL condition under which the verb may write. Every such UPDATE contains it."""
        return f"state IN ({sql_list(*self.existing)})"

    @property
    def existing(self) -> tuple[State, ...]:
        """Source states of an existing row, in the order of the enumeration."""
        return tuple(state for state in State if state in self.sources)


TERMINAL = frozenset(
    {
        State.SUCCEEDED,
        State.FAILED,
        State.FATAL,
        State.TIMED_OUT,
        State.EXPIRED,
        State.SKIPPED,
        State.CANCELLED,
        State.UPSTREAM_FAILED,
        State.SPLIT,
    }
)
LIVE = frozenset(State) - TERMINAL
#: States of planned jobs that have not ended. An expected job is planned only when its data has come.
ACTIVE = tuple(state for state in State if state in LIVE and state is not State.EXPECTED)
#: States that can be rerun, and terminal states of a parent. A split job is replaced by its halves.
RERUNNABLE = TERMINAL - {State.SPLIT}
#: Terminal states of a dead parent: all except success.
DEAD = RERUNNABLE - {State.SUCCEEDED}
#: States that a retry of a submission runs again: dead jobs that count against the submission.
UNSUCCESSFUL = DEAD - {State.SKIPPED}
#: States that occupy a slot of the pool.
DISPATCHED = frozenset({State.READY, State.RUNNING})
#: States of a saga with an open flight. It has begun and has neither ended nor been undone.
SAGA_OPEN = (State.WAITING, State.READY, State.RUNNING, State.SUSPENDED, State.EXECUTED, State.FATAL)
#: States that an operator can still stop.
STOPPABLE = frozenset({State.WAITING, State.READY, State.RUNNING, State.SUSPENDED})


def sql_list(*states: State) -> str:
    """Return the states as the inside of an SQL list. They are our own words, so quoting is sufficient."""
    return ", ".join(f"'{state}'" for state in states)


def _verb(name: str, sources: str, target: State, by: str, when: str) -> Verb:
    return Verb(
        name=name,
        sources=frozenset(None if word == "-" else State(word) for word in sources.split()),
        target=target,
        by=frozenset(By(word) for word in by.split()),
        when=when,
    )


_STOPPABLE = " ".join(sorted(STOPPABLE))
_RERUNNABLE = " ".join(sorted(RERUNNABLE))

EXPECT = _verb(
    "expect", "-", State.EXPECTED, "planner", "a pushed child names it as a parent; not requested yet"
)
REQUEST = _verb(
    "request", "- expected", State.WAITING, "planner", "a submission or a child's pull requests it"
)
SKIP = _verb(
    "skip",
    "- expected waiting",
    State.SKIPPED,
    "planner",
    "it fails the app's valid_if_or, or a parent was skipped",
)
MAKE_READY = _verb(
    "make_ready",
    "waiting",
    State.READY,
    "planner groomer executor",
    "one dependency group is met, not_before has passed, and its pool has a slot",
)
FAIL_UPSTREAM = _verb(
    "fail_upstream",
    "waiting",
    State.UPSTREAM_FAILED,
    "planner",
    "every dependency group has a parent that will not succeed",
)
CLAIM = _verb("claim", "ready", State.RUNNING, "executor", "same round, not expired, under a valid lease")
RECORD = _verb("record", "running", State.EXECUTED, "executor", "the outcome of this claim")
HAND_BACK = _verb(
    "hand_back", "running", State.READY, "executor", "a stopping worker returns its unfinished jobs"
)
REQUEUE = _verb(
    "requeue",
    "running",
    State.WAITING,
    "groomer executor",
    "over its timeout or its lease lost, with tries left; or handed back while it is paused",
)
TIME_OUT = _verb("time_out", "running", State.TIMED_OUT, "groomer executor", "over its timeout, none left")
FAIL_LOST = _verb("fail_lost", "running", State.FAILED, "groomer", "its lease was lost, none left")
SUCCEED = _verb("succeed", "executed", State.SUCCEEDED, "planner", "no error, and finished by end_before")
RETRY = _verb("retry", "executed", State.WAITING, "planner", "an error, with tries left; due after its delay")
FAIL = _verb("fail", "executed", State.FAILED, "planner", "an error, none left")
MARK_FATAL = _verb("mark_fatal", "executed", State.FATAL, "planner", "a saga that could not undo")
EXPIRE = _verb("expire", _STOPPABLE, State.EXPIRED, "groomer executor", "end_before has passed")
EXPIRE_LATE = _verb("expire_late", "executed", State.EXPIRED, "planner", "it finished after end_before")
CANCEL_UNDONE = _verb(
    "cancel_undone",
    "executed",
    State.CANCELLED,
    "planner",
    "a saga that no submission requests any more has been undone",
)
SPLIT = _verb(
    "split", "failed timed_out", State.SPLIT, "planner", "on_failure: bisect; its halves run in its place"
)
CANCEL = _verb("cancel", _STOPPABLE, State.CANCELLED, "planner", "no active submission requests it any more")
PAUSE = _verb("pause", "ready", State.WAITING, "planner", "every submission that requests it is paused")
MARK_LANDED = _verb(
    "mark_landed",
    "expected",
    State.SUCCEEDED,
    "planner",
    "it represents a partition that landed from outside",
)
UNDO = _verb(
    "undo",
    "succeeded",
    State.CANCELLED,
    "planner",
    "its saga across apps failed, and its compensation has succeeded",
)
SUSPEND = _verb("suspend", "running", State.SUSPENDED, "executor", "a saga step returned Wait")
RESUME = _verb(
    "resume",
    "suspended",
    State.WAITING,
    "planner groomer executor",
    "its event has arrived, its wait has timed out, or it must be undone",
)
RERUN = _verb(
    "rerun",
    _RERUNNABLE,
    State.WAITING,
    "planner",
    "rerun by request, or its dead parent was rerun, or requested again",
)

VERBS: tuple[Verb, ...] = (
    EXPECT,
    REQUEST,
    SKIP,
    MAKE_READY,
    FAIL_UPSTREAM,
    CLAIM,
    RECORD,
    HAND_BACK,
    REQUEUE,
    TIME_OUT,
    FAIL_LOST,
    SUCCEED,
    RETRY,
    FAIL,
    MARK_FATAL,
    EXPIRE,
    EXPIRE_LATE,
    CANCEL_UNDONE,
    SPLIT,
    CANCEL,
    PAUSE,
    MARK_LANDED,
    UNDO,
    SUSPEND,
    RESUME,
    RERUN,
)


def legal(source: State | None, target: State) -> bool:
    """Return whether some verb leads from source to target."""
    return any(source in verb.sources and target is verb.target for verb in VERBS)
