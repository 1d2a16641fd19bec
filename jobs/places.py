"""Failpoints: places in the code at which a test can kill the process, and only there.

Their names are data, in this module. The code calls ``reached`` once for each. A failpoint is *written* when a
transaction has done all its work and has not committed, and *committed* when the commit has returned. A process that
dies at the first leaves nothing, and at the second everything. In both cases it sends no notification.

The failpoint set by ``arm`` is this package's only process-wide state that is not passed as an argument. Failpoints
are deep inside other code, and the whole process dies, not one caller. Importing this module arms nothing; the
assembly of a process does it, from its settings. An unarmed failpoint costs one look-up of a name.
"""

import signal
from collections.abc import Mapping
from threading import Lock

from msgspec import Struct


class Point(Struct, frozen=True):
    """A failpoint. ``word`` is its name in ``SLUICE_CRASH_AT``, ``sentence`` describes the moment."""

    word: str
    sentence: str


class Place:
    """All failpoints. It is not an ``Enum``, because the look-up of a member takes longer than all the rest."""

    COMMIT_BEGINS = Point(
        "commit.begins", "A transaction of any kind has done its work and is about to commit."
    )
    COMMIT_RETURNED = Point(
        "commit.returned", "A transaction of any kind is committed, and its caller does not know."
    )
    PUBLISH_BEGINS = Point("publish.begins", "Messages about what is committed are about to be sent.")
    PUBLISH_RETURNED = Point("publish.returned", "The broker has confirmed them.")

    CLIENT_WRITTEN = Point("client.written", "A program's submissions are in its open transaction.")
    CLIENT_COMMITTED = Point("client.committed", "They stand in the ledger, and no planner was told.")
    CLIENT_TOLD = Point(
        "client.told", "A planner was told, and the program has yet to hear that it has submitted."
    )
    CALLED_OFF = Point("client.called-off", "A program has cancelled something, and nobody was told.")

    SUBMIT_WRITTEN = Point(
        "submit.written", "The submissions of a message are in the planner's open transaction."
    )
    SUBMIT_COMMITTED = Point("submit.committed", "They are taken in, and their message is not acknowledged.")
    PLAN_WRITTEN = Point("plan.written", "Jobs are inserted, in an open transaction.")
    PLAN_COMMITTED = Point(
        "plan.committed", "They are planned, and those that are ready are known to nobody."
    )
    CHUNKS_WRITTEN = Point(
        "chunks.written", "The chunks of a submission are inserted, in an open transaction."
    )
    CHUNKS_COMMITTED = Point(
        "chunks.committed", "They are planned, and those that are ready are known to nobody."
    )
    JUDGE_WRITTEN = Point("judge.written", "Outcomes are judged and gates opened, in an open transaction.")
    JUDGE_COMMITTED = Point(
        "judge.committed", "They are judged, and children that nobody asked for are not planned."
    )
    ENDED_WRITTEN = Point(
        "ended.written", "Children of jobs that ended otherwise are told, in an open transaction."
    )
    ENDED_COMMITTED = Point(
        "ended.committed", "They are told, and children that nobody asked for are not planned."
    )
    PUSH_WRITTEN = Point(
        "push.written", "Children that nobody asked for are planned, in an open transaction."
    )
    PUSH_COMMITTED = Point(
        "push.committed", "They are planned, and those that are ready are known to nobody."
    )
    CANCEL_WRITTEN = Point("cancel.written", "A message's submission is cancelled, in an open transaction.")
    CANCEL_COMMITTED = Point(
        "cancel.committed", "It is cancelled, and the children of what that ended are not told."
    )

    CLAIM_WRITTEN = Point("claim.written", "Jobs are claimed, in an open transaction.")
    CLAIM_COMMITTED = Point("claim.committed", "They are claimed, and their message is not acknowledged.")
    CLAIM_ACKNOWLEDGED = Point("claim.acknowledged", "The message is gone, and none of its jobs has begun.")
    RUN_BEGINS = Point("run.begins", "One claimed job is about to be run.")
    RUN_ENDED = Point("run.ended", "It has run, and nobody knows.")
    SETTLE_WRITTEN = Point(
        "settle.written", "Outcomes are recorded and children told, in an open transaction."
    )
    SETTLE_COMMITTED = Point(
        "settle.committed", "That stands, and what follows is claimed and has not begun."
    )
    HAND_OFF_TAKEN = Point(
        "hand-off.taken", "Children are claimed in the transaction that ended their parent."
    )
    HAND_OFF_BEGINS = Point("hand-off.begins", "They are about to be run without any message about them.")
    RECORD_WRITTEN = Point(
        "record.written", "What was looked at elsewhere has ended, in an open transaction."
    )
    RECORD_COMMITTED = Point("record.committed", "Its outcome is recorded, and no planner was told.")
    LEAVE_WRITTEN = Point(
        "leave.written", "What runs elsewhere has its handle stored, in an open transaction."
    )
    LEAVE_COMMITTED = Point("leave.committed", "The work goes on elsewhere, and no worker is with it.")
    USER_WRITTEN = Point(
        "user.written", "What a job writes itself and its success are in one open transaction."
    )
    USER_COMMITTED = Point("user.committed", "Both stand, and the job's own function has not returned.")

    FLIGHT_TAKEN_UP = Point("flight.taken-up", "The journal of a saga was read, and no step is called.")
    DO_BEGINS = Point("do.begins", "A step's do is about to be called.")
    DO_ANSWERED = Point("do.answered", "It has answered, and the journal does not know.")
    UNDO_BEGINS = Point("undo.begins", "A step's undo is about to be called.")
    UNDO_ANSWERED = Point("undo.answered", "It has answered, and the journal does not know.")
    ENTRY_WRITTEN = Point("entry.written", "An entry of the journal is in an open transaction.")
    ENTRY_COMMITTED = Point("entry.committed", "It stands, and the flight has not gone on.")

    BLOB_BEGINS = Point("blob.begins", "An output that is too large for the ledger is about to be stored.")
    BLOB_STORED = Point("blob.stored", "It is stored, and no round in the ledger has it.")
    PROGRAM_FETCHED = Point("program.fetched", "A program's archive is here, and not unpacked.")
    PROGRAM_UNPACKED = Point("program.unpacked", "It is unpacked beside its place.")
    PROGRAM_INSTALLED = Point("program.installed", "It is in its place, and no record says so.")

    TICK_LED = Point("tick.led", "Whoever leads has yet to look what is due.")
    TICK_SENT = Point("tick.sent", "Ticks are sent, and what has happened is not counted.")
    LOOK_WRITTEN = Point("look.written", "Schedules have fired, in an open transaction.")
    LOOK_COMMITTED = Point("look.committed", "Their submissions stand, and no planner was told.")
    GROOM_WRITTEN = Point("groom.written", "One chore of the groomer is done, in an open transaction.")
    GROOM_COMMITTED = Point("groom.committed", "It stands, and what is to be said of it is not.")
    SWEEP_WRITTEN = Point("sweep.written", "Old history is removed, in an open transaction.")
    SWEEP_COMMITTED = Point("sweep.committed", "It is gone, and its blobs are not.")
    BLOB_REMOVED = Point("blob.removed", "A blob is thrown away, and the ledger still counts it as litter.")


#: By the attribute's name in ``Place``.
PLACES: Mapping[str, Point] = {name: point for name, point in vars(Place).items() if isinstance(point, Point)}
_BY_WORD = {point.word: point for point in PLACES.values()}


class Crash(Struct, frozen=True):
    """Instruction to die at the ``time``-th arrival at ``place``, counted from 1."""

    place: Point
    time: int


class _Armed:
    """Armed failpoint. Several threads may arrive at the same time; only the last counted arrival kills the process."""

    def __init__(self, crash: Crash) -> None:
        self._place = crash.place
        self._left = crash.time
        self._lock = Lock()

    def came_to(self, place: Point) -> None:
        if place is not self._place:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0:
                signal.raise_signal(signal.SIGKILL)


_armed: _Armed | None = None


def reached(place: Point) -> None:
    """Mark that the code has reached this failpoint. If it is armed, the process dies here."""
    if _armed is not None:
        _armed.came_to(place)


def arm(crash: Crash | None) -> None:
    """Make this process die at a failpoint; with None, at no failpoint."""
    global _armed  # noqa: PLW0603 - a process has one death, and who puts it together decides
    _armed = None if crash is None else _Armed(crash)


def read_crash(text: str) -> Crash:
    """Parse ``claim.committed@3``, or a failpoint alone for its first time. Raises ValueError for any other text."""
    word, at, number = text.partition("@")
    if word not in _BY_WORD:
        raise ValueError(f"{word!r} is no place at which a process may die")
    if at and not (number.isdecimal() and int(number) > 0):
        raise ValueError(f"{number!r} is no time to come to a place, the first being 1")
    return Crash(_BY_WORD[word], int(number) if at else 1)
