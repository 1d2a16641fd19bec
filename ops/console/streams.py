"""Streams of changes, as server-sent events.

One thread reads the ledger for all streams, once a second and only while there are streams. It keeps the last
result, and each stream compares that with the states that it has sent. So a client that reads slowly misses
intermediate states and never the last state, and no events are queued for it. A new stream first sends the present
state.

A client without events cannot distinguish an unchanged ledger from a ledger that is not read. So all streams also
send an event when reads begin to fail or a read takes too long, with the time since when, and again when reads
succeed.
"""

import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime
from threading import Condition, Thread
from typing import Any, NamedTuple

import msgspec

from sluice.jobs.errors import BadRequest, SluiceError, Unreachable
from sluice.jobs.model.names import JobName
from sluice.jobs.observe.outages import OutageLog, missed
from sluice.ledger.database.connection import Tx
from sluice.ledger.reads import schedule_states
from sluice.ledger.reads.state_statistics import job_standings, submission_standings
from sluice.ledger.reads.submission_progress import EXACT_MAX, PROBES
from sluice.ops.console.tenancy import TenantReach
from sluice.ops.observe.overview.page import narrowed

_LOG = logging.getLogger("sluice.console")

#: Name of the streams among the parts of a process that an outage of the ledger affects.
_PART = "streams"

LOOK_EVERY_S = 1.0
#: Seconds after which a read that is still running is reported like a failed read.
LOOK_S_MAX = 10.0
#: Seconds without an event after which a comment shows that the stream still exists.
COMMENT_EVERY_S = 15.0
#: Greatest number of objects that a stream watches.
WATCHES_MAX = 50
_COMMENT = b": still here\n\n"
_FIRST = b"retry: 2000\n\n"
_NOTHING_NEW = b""
#: State of ``LEDGER`` while reads succeed. A new stream does not send it: a client without other news assumes it.
_SEEN = b'{"unseen_since":null}'

Ask = Callable[[Callable[[Tx], Any]], Any]


class WatchedObject(NamedTuple):
    """Watched object. ``of`` is the name of a job or the ID of a submission. For a list it is the tenant whose part is
    watched, or empty for the whole list.
    """

    kind: str
    of: JobName | str = ""


#: Watched by all streams: whether the ledger can be read.
LEDGER = WatchedObject("ledger")


class Streams:
    """Streams of a console. ``ask`` reads from the ledger; ``overview`` makes the overview. ``reach_of`` returns the
    apps of a tenant; ``outages`` is the log of the ledger's outages.
    """

    def __init__(
        self,
        ask: Ask,
        overview: Callable[[Tx], Any],
        reach_of: Callable[[str | None], TenantReach] = lambda _: TenantReach(),
        outages: Callable[[], OutageLog] | None = None,
    ) -> None:
        self._ask = ask
        self._outages = outages
        self._overview = overview
        self._reach_of = reach_of
        self._changed = Condition()
        self._watched: list[Sequence[WatchedObject]] = []
        self._known: Mapping[WatchedObject, bytes] = {}
        self._looking_since: datetime | None = None
        self._failing_since: datetime | None = None
        self._is_closed = False
        self._thread: Thread | None = None

    def tell(self, watches: Sequence[WatchedObject]) -> Generator[bytes, None, None]:
        """Yield events as they are sent. An empty piece means that there is nothing new: the sender can check whether
        the client still listens. Ends with ``close``.
        """
        self._enter(watches)
        told: dict[WatchedObject, bytes] = {LEDGER: _SEEN}
        spoken_at = time.monotonic()
        try:
            yield _FIRST
            while True:
                with self._changed:
                    if not self._is_closed and not self._news(watches, told):
                        self._changed.wait(LOOK_EVERY_S)
                    news = self._news(watches, told)
                    if self._is_closed:
                        return
                told |= news
                piece = b"".join(_event(watch, data) for watch, data in news.items())
                if not piece and time.monotonic() - spoken_at >= COMMENT_EVERY_S:
                    piece = _COMMENT
                if piece:
                    spoken_at = time.monotonic()
                yield piece or _NOTHING_NEW
        finally:
            self._leave(watches)

    def close(self) -> None:
        """End all streams."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _enter(self, watches: Sequence[WatchedObject]) -> None:
        with self._changed:
            self._watched.append(watches)
            if self._thread is None and not self._is_closed:
                self._thread = Thread(target=self._look_around, name="sluice-streams", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _leave(self, watches: Sequence[WatchedObject]) -> None:
        """Remove a stream. If several have the same watches, any of their entries is removed."""
        with self._changed:
            self._watched.remove(watches)
            if not self._watched:
                # The results become stale while there is no stream.
                self._known, self._failing_since = {}, None
                if self._outages is not None:
                    self._outages().answered(part=_PART)

    def _look_around(self) -> None:
        """Read the ledger for all streams. There is always an interval between two reads, however many streams begin
        and end.
        """
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or self._watched)
                if self._is_closed:
                    return
                watched = {watch for watches in self._watched for watch in watches}
                began = self._looking_since = datetime.now(UTC)
            known = self._look(watched)
            with self._changed:
                self._looking_since = None
                if known is None:
                    self._failing_since = self._failing_since or began
                else:
                    self._known, self._failing_since = known, None
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._is_closed, LOOK_EVERY_S)

    def _look(self, watched: set[WatchedObject]) -> Mapping[WatchedObject, bytes] | None:
        """Read the watched objects. None if the read fails; the next read may succeed."""
        try:
            found = self._ask(lambda tx: self._found(tx, watched))
        except Unreachable as error:
            missed(error, "updates of console pages left out")
            return None
        except SluiceError as error:
            _LOG.warning("changes cannot be sent to the clients of the console: %s", error.what)
            return None
        except Exception:
            # A defect must not end the thread that reads for all streams; the log has the exception.
            _LOG.exception("A read of the ledger for the streams failed.")
            return None
        if self._outages is not None:
            self._outages().answered(part=_PART)
        return {watch: msgspec.json.encode(document) for watch, document in found.items()}

    def _news(
        self, watches: Sequence[WatchedObject], told: Mapping[WatchedObject, bytes]
    ) -> dict[WatchedObject, bytes]:
        """Return the known states of these objects that differ from the states already sent."""
        known = {each: self._known[each] for each in watches if each in self._known} | {LEDGER: self._looks()}
        return {
            watch: data for watch, data in known.items() if _lasting(data) != _lasting(told.get(watch, b""))
        }

    def _looks(self) -> bytes:
        """Return the state of ``LEDGER``: the time since which it cannot be read, or null."""
        since, now = self._looking_since, datetime.now(UTC)
        is_late = since is not None and (now - since).total_seconds() > LOOK_S_MAX
        if is_late and self._outages is not None:
            self._outages().failed(f"no answer for {LOOK_S_MAX:g} s", part=_PART)
        unseen = self._failing_since or (since if is_late else None)
        return _SEEN if unseen is None else msgspec.json.encode({"unseen_since": unseen})

    def _found(self, tx: Tx, watched: set[WatchedObject]) -> Mapping[WatchedObject, Any]:
        jobs = [watch.of for watch in watched if isinstance(watch.of, JobName)]
        ids = [str(watch.of) for watch in watched if watch.kind == "submission"]
        found: dict[WatchedObject, Any] = {
            WatchedObject("job", JobName(each.app, each.key)): each for each in job_standings(tx, jobs)
        }
        for each in submission_standings(tx, ids, exact_max=EXACT_MAX, probes=PROBES):
            found[WatchedObject("submission", each.id)] = each
        return found | self._lists(tx, watched)

    def _lists(self, tx: Tx, watched: set[WatchedObject]) -> dict[WatchedObject, Any]:
        """Return the watched lists. Each is read once for all tenants that watch their parts of it."""
        found: dict[WatchedObject, Any] = {}
        for kind, read in (("schedules", _schedules), ("overview", self._overviews)):
            if lists := [watch for watch in watched if watch.kind == kind]:
                part = read(tx)
                found |= {watch: part(self._reach_of(str(watch.of) or None)) for watch in lists}
        return found

    def _overviews(self, tx: Tx) -> Callable[[TenantReach], Any]:
        whole = self._overview(tx)
        return lambda reach: whole if reach.apps is None else narrowed(whole, reach.has)


def _schedules(tx: Tx) -> Callable[[TenantReach], Any]:
    found = schedule_states.schedules(tx, retired=False)
    return lambda reach: {"schedules": [each for each in found if reach.has(each.app)]}


def read_watch(text: str) -> WatchedObject:
    """Read the name of an object to watch. BadRequest if it cannot be watched."""
    kind, _, of = text.partition(":")
    if text in ("overview", "schedules"):
        return WatchedObject(text)
    app, _, key = of.partition("/")
    if kind == "job" and app and key:
        return WatchedObject(kind, JobName(app, key))
    if kind == "submission" and of:
        return WatchedObject(kind, of)
    raise BadRequest(
        f"{text!r} cannot be watched.",
        advice="Watch overview, schedules, job:APP/KEY or submission:ID.",
    )


def _lasting(data: bytes) -> bytes:
    """Return the document without the time of the read, with which an overview begins."""
    return data.partition(b",")[2] if data.startswith(b'{"at":') else data


def _event(watch: WatchedObject, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (watch.kind.encode(), data)
