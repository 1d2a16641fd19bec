"""Failpoints: places in the code at which a test can kill the process, and only there.

Their names are data, in this module. The code calls ``reached`` once for each. A failpoint is *written* when a
transaction has done all its work and has not committed, and *committed* when the commit has returned. A process that
dies at the first leaves nothing, and at the second everything. In both cases it sends no notification. A transaction
of a single statement (``Ledger.call_alone``) has the first failpoint before it sends the statement.

The failpoint set by ``arm`` is this package's only process-wide state that is not passed as an argument. Failpoints
are deep inside other code, and the whole process dies, not one caller. Importing this module arms nothing; the
assembly of a process does it, from its settings. An unarmed failpoint costs one look-up of a name.
"""

import signal
from collections.abc import Mapping
from threading import Lock

from msgspec import Struct


class Point(Struct, frozen=True):
    """A failpoint. ``word`` is its name in ``SLUICE_FAILPOINT``, ``sentence`` describes the moment."""

    word: str
    sentence: str


class Failpoint:
    """All failpoints. It is not an ``Enum``, because the look-up of a member takes longer than all the rest."""

    COMMIT_BEGINS = Point(
        "commit.begins", "A transaction of any kind has done its work and is about to commit."
    )
    COMMIT_RETURNED = Point(
        "commit.returned",
        "A transaction of any kind is committed, and the commit has not returned to its caller.",
    )
    PUBLISH_BEGINS = Point("publish.begins", "Messages about committed changes are about to be sent.")
    PUBLISH_RETURNED = Point("publish.returned", "The broker has confirmed the messages.")

    CLIENT_WRITTEN = Point("client.written", "A program's submissions are in its open transaction.")
    CLIENT_COMMITTED = Point(
        "client.committed", "The submissions are in the ledger, and no planner is notified."
    )
    CLIENT_TOLD = Point(
        "client.told", "A planner is notified, and the program's submit call has not returned."
    )
    CALLED_OFF = Point(
        "client.called-off", "A program has cancelled a submission or job, and no process is notified."
    )

    SUBMIT_WRITTEN = Point(
        "submit.written", "The submissions of a message are in the planner's open transaction."
    )
    SUBMIT_COMMITTED = Point(
        "submit.committed", "The submissions are admitted, and their message is not acknowledged."
    )
    PLAN_WRITTEN = Point("plan.written", "Jobs are inserted, in an open transaction.")
    PLAN_COMMITTED = Point(
        "plan.committed", "Jobs are planned, and no notification about the ready ones is sent."
    )
    PLAN_TAKEN = Point(
        "plan.taken", "Some of the planned jobs are claimed for this process, in the same open transaction."
    )
    PLANNED_BEGINS = Point(
        "planned.begins",
        "Jobs that were claimed when they were planned are about to be run without any message.",
    )
    CHUNKS_WRITTEN = Point(
        "chunks.written", "The chunks of a submission are inserted, in an open transaction."
    )
    CHUNKS_COMMITTED = Point(
        "chunks.committed", "Chunks are planned, and no notification about the ready ones is sent."
    )
    JUDGE_WRITTEN = Point(
        "judge.written", "Outcomes are judged and dependency groups opened, in an open transaction."
    )
    JUDGE_COMMITTED = Point("judge.committed", "Outcomes are judged, and pushed children are not planned.")
    ENDED_WRITTEN = Point(
        "ended.written",
        "Children of jobs that ended without a judgement are updated, in an open transaction.",
    )
    ENDED_COMMITTED = Point(
        "ended.committed", "The children are updated, and pushed children are not planned."
    )
    EXPAND_WRITTEN = Point(
        "expand.written", "The jobs that a successful job adds are planned, in an open transaction."
    )
    EXPAND_COMMITTED = Point(
        "expand.committed", "The jobs that a successful job adds are planned, but its children are not."
    )
    PUSH_WRITTEN = Point("push.written", "Pushed children are planned, in an open transaction.")
    PUSH_COMMITTED = Point(
        "push.committed", "Pushed children are planned, and no notification about the ready ones is sent."
    )
    CANCEL_WRITTEN = Point("cancel.written", "A message's submission is cancelled, in an open transaction.")
    CANCEL_COMMITTED = Point(
        "cancel.committed",
        "The submission is cancelled, and the children of the cancelled jobs are not updated.",
    )

    CLAIM_WRITTEN = Point("claim.written", "Jobs are claimed, in an open transaction.")
    CLAIM_COMMITTED = Point("claim.committed", "Jobs are claimed, and their message is not acknowledged.")
    CLAIM_ACKNOWLEDGED = Point(
        "claim.acknowledged", "The message is acknowledged, and none of its jobs has begun."
    )
    RUN_BEGINS = Point("run.begins", "One claimed job is about to be run.")
    RUN_ENDED = Point("run.ended", "The job has run, and its outcome is not recorded.")
    SETTLE_WRITTEN = Point(
        "settle.written", "Outcomes are recorded and children updated, in an open transaction."
    )
    SETTLE_COMMITTED = Point(
        "settle.committed", "Outcomes are recorded, and the next jobs are claimed and have not begun."
    )
    LONE_END_BEGINS = Point(
        "lone-end.begins",
        "The outcome of one job is about to be recorded, and its child claimed, by one statement.",
    )
    LONE_END_COMMITTED = Point(
        "lone-end.committed",
        "The outcome of one job is recorded, and its child is claimed and has not begun.",
    )
    HAND_OFF_TAKEN = Point(
        "hand-off.taken", "Children are claimed in the transaction that ended their parent."
    )
    HAND_OFF_BEGINS = Point(
        "hand-off.begins", "Claimed children are about to be run without any message about them."
    )
    RECORD_WRITTEN = Point(
        "record.written", "The outcome of polled external work is recorded, in an open transaction."
    )
    RECORD_COMMITTED = Point(
        "record.committed", "The outcome of external work is recorded, and no planner is notified."
    )
    LEAVE_WRITTEN = Point("leave.written", "The handle of external work is stored, in an open transaction.")
    LEAVE_COMMITTED = Point("leave.committed", "The external work continues without a worker.")
    USER_WRITTEN = Point("user.written", "A job's own writes and its success are in one open transaction.")
    USER_COMMITTED = Point("user.committed", "Both are committed, and the job's function has not returned.")

    FLIGHT_TAKEN_UP = Point("flight.taken-up", "The journal of a saga is read, and no step is called.")
    DO_BEGINS = Point("do.begins", "A step's do is about to be called.")
    DO_ANSWERED = Point("do.answered", "A step's do has returned, and the journal has no entry of it.")
    UNDO_BEGINS = Point("undo.begins", "A step's undo is about to be called.")
    UNDO_ANSWERED = Point("undo.answered", "A step's undo has returned, and the journal has no entry of it.")
    ENTRY_UNCOMMITTED = Point("entry.uncommitted", "An entry of the journal is about to be committed.")
    ENTRY_COMMITTED = Point("entry.committed", "The entry is committed, and the flight has not continued.")

    STEP_WRITTEN = Point("step.written", "A step's own writes and its entry are in one open transaction.")
    STEP_COMMITTED = Point("step.committed", "Both are committed, and the step has not returned.")

    BLOB_BEGINS = Point("blob.begins", "An output that is too large for the ledger is about to be stored.")
    BLOB_STORED = Point("blob.stored", "The output is stored, and no round in the ledger refers to it.")
    PROGRAM_FETCHED = Point("program.fetched", "A program's archive is fetched, and not unpacked.")
    PROGRAM_UNPACKED = Point("program.unpacked", "The archive is unpacked in a temporary folder.")
    PROGRAM_INSTALLED = Point(
        "program.installed", "The program is installed, and no record of it is written."
    )

    TICK_LED = Point("tick.led", "The leading scheduler has not checked for due schedules yet.")
    TICK_SENT = Point("tick.sent", "Ticks are sent, and the new events are not counted.")
    LOOK_WRITTEN = Point("look.written", "Schedules have fired, in an open transaction.")
    LOOK_COMMITTED = Point(
        "look.committed", "The submissions of schedules are committed, and no planner is notified."
    )
    NOTIFY_WRITTEN = Point("notify.written", "Due deliveries are leased, in an open transaction.")
    NOTIFY_COMMITTED = Point("notify.committed", "The deliveries are leased, and none of them is attempted.")
    DELIVER_WRITTEN = Point(
        "deliver.written", "A receiver has answered, and the result is in an open transaction."
    )
    DELIVER_COMMITTED = Point("deliver.committed", "The result of an attempt is committed.")
    GROOM_WRITTEN = Point("groom.written", "One chore of the groomer is done, in an open transaction.")
    GROOM_COMMITTED = Point("groom.committed", "The chore is committed, and its notifications are not sent.")
    SWEEP_WRITTEN = Point("sweep.written", "Old history is removed, in an open transaction.")
    SWEEP_COMMITTED = Point("sweep.committed", "The old history is removed, and its blobs still exist.")
    BLOB_REMOVED = Point(
        "blob.removed", "A blob is removed, and the ledger still lists it as a pending deletion."
    )


class CommitPoints(Struct, frozen=True):
    """The failpoints before and after the commit of one kind of transaction."""

    written: Point
    committed: Point


class TransactionKind:
    """The transactions with failpoints of their own, for ``Ledger.transact``."""

    CLIENT = CommitPoints(Failpoint.CLIENT_WRITTEN, Failpoint.CLIENT_COMMITTED)
    SUBMIT = CommitPoints(Failpoint.SUBMIT_WRITTEN, Failpoint.SUBMIT_COMMITTED)
    PLAN = CommitPoints(Failpoint.PLAN_WRITTEN, Failpoint.PLAN_COMMITTED)
    CHUNKS = CommitPoints(Failpoint.CHUNKS_WRITTEN, Failpoint.CHUNKS_COMMITTED)
    JUDGE = CommitPoints(Failpoint.JUDGE_WRITTEN, Failpoint.JUDGE_COMMITTED)
    ENDED = CommitPoints(Failpoint.ENDED_WRITTEN, Failpoint.ENDED_COMMITTED)
    EXPAND = CommitPoints(Failpoint.EXPAND_WRITTEN, Failpoint.EXPAND_COMMITTED)
    PUSH = CommitPoints(Failpoint.PUSH_WRITTEN, Failpoint.PUSH_COMMITTED)
    CANCEL = CommitPoints(Failpoint.CANCEL_WRITTEN, Failpoint.CANCEL_COMMITTED)
    CLAIM = CommitPoints(Failpoint.CLAIM_WRITTEN, Failpoint.CLAIM_COMMITTED)
    SETTLE = CommitPoints(Failpoint.SETTLE_WRITTEN, Failpoint.SETTLE_COMMITTED)
    SETTLE_ALONE = CommitPoints(Failpoint.LONE_END_BEGINS, Failpoint.LONE_END_COMMITTED)
    RECORD = CommitPoints(Failpoint.RECORD_WRITTEN, Failpoint.RECORD_COMMITTED)
    LEAVE = CommitPoints(Failpoint.LEAVE_WRITTEN, Failpoint.LEAVE_COMMITTED)
    ENTRY = CommitPoints(Failpoint.ENTRY_UNCOMMITTED, Failpoint.ENTRY_COMMITTED)
    LOOK = CommitPoints(Failpoint.LOOK_WRITTEN, Failpoint.LOOK_COMMITTED)
    NOTIFY = CommitPoints(Failpoint.NOTIFY_WRITTEN, Failpoint.NOTIFY_COMMITTED)
    DELIVER = CommitPoints(Failpoint.DELIVER_WRITTEN, Failpoint.DELIVER_COMMITTED)
    GROOM = CommitPoints(Failpoint.GROOM_WRITTEN, Failpoint.GROOM_COMMITTED)


#: By the attribute's name in ``Failpoint``.
PLACES: Mapping[str, Point] = {
    name: point for name, point in vars(Failpoint).items() if isinstance(point, Point)
}
_BY_WORD = {point.word: point for point in PLACES.values()}


class CrashOrder(Struct, frozen=True):
    """Instruction to die at the ``time``-th arrival at ``place``, counted from 1."""

    place: Point
    time: int


class _Armed:
    """Armed failpoint. Several threads may arrive at the same time; only the last counted arrival kills the process."""

    def __init__(self, crash: CrashOrder) -> None:
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


def arm(crash: CrashOrder | None) -> None:
    """Make this process die at a failpoint; with None, at no failpoint."""
    global _armed  # noqa: PLW0603 - a process has one death, and who puts it together decides
    _armed = None if crash is None else _Armed(crash)


def read_crash(text: str) -> CrashOrder:
    """Parse ``claim.committed@3``, or a failpoint alone for its first time. Raises ValueError for any other text."""
    word, at, number = text.partition("@")
    if word not in _BY_WORD:
        raise ValueError(f"{word!r} is no failpoint")
    if at and not (number.isdecimal() and int(number) > 0):
        raise ValueError(f"{number!r} is not a whole number from 1 on")
    return CrashOrder(_BY_WORD[word], int(number) if at else 1)
