"""Streams: what has changed is told to whoever watches it, as server-sent events.

One thread looks for all of them together, once a second and only while somebody watches. What it has found stands in
one place, and each stream compares that with what it has told: so one who reads slowly misses steps between, and never
the last, and nothing is kept for him meanwhile. Who begins to watch is told how it stands first.

Whoever hears nothing cannot tell whether nothing happens or nobody looks. So all are told, too, when looks begin to
fail, or one takes too long, and since when that is so; and when they succeed again.
"""

import logging
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from datetime import UTC, datetime
from threading import Condition, Thread
from typing import Any, NamedTuple

import msgspec

from sluice.jobs.errors import BadRequest, SluiceError
from sluice.jobs.ref import JobName
from sluice.ledger.connection import Tx
from sluice.ledger.reads import schedules
from sluice.ledger.reads.shares import EXACT_MAX, PROBES
from sluice.ledger.reads.stirrings import job_standings, submission_standings

_LOG = logging.getLogger("sluice.console")

LOOK_EVERY_S = 1.0
#: A look that takes longer has found nothing yet that anybody could rely on.
LOOK_S_MAX = 10.0
#: After so long a silence a comment says that the stream is still there.
COMMENT_EVERY_S = 15.0
#: One stream watches no more than this.
WATCHES_MAX = 50
_COMMENT = b": still here\n\n"
_FIRST = b"retry: 2000\n\n"
_NOTHING_NEW = b""
#: What is told of looks where they succeed, as nobody need be told who has heard nothing else.
_SEEN = b'{"unseen_since":null}'

Ask = Callable[[Callable[[Tx], Any]], Any]


class Watch(NamedTuple):
    """Of a job ``of`` is its name, of a submission its id; of others there is one."""

    kind: str
    of: JobName | str = ""


#: What all watch: whether the ledger can be looked at.
LEDGER = Watch("ledger")


class Streams:
    """``ask`` reads from the ledger, ``overview`` makes that document."""

    def __init__(self, ask: Ask, overview: Callable[[Tx], Any]) -> None:
        self._ask = ask
        self._overview = overview
        self._changed = Condition()
        self._watched: list[Sequence[Watch]] = []
        self._known: Mapping[Watch, bytes] = {}
        self._looking_since: datetime | None = None
        self._failing_since: datetime | None = None
        self._is_closed = False
        self._thread: Thread | None = None

    def tell(self, watches: Sequence[Watch]) -> Generator[bytes, None, None]:
        """Events, as they are sent; an empty piece where there is nothing new, so that whoever sends them can see
        whether anybody still listens. It ends when this is closed."""
        self._enter(watches)
        told: dict[Watch, bytes] = {LEDGER: _SEEN}
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
        """Every stream ends."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _enter(self, watches: Sequence[Watch]) -> None:
        with self._changed:
            self._watched.append(watches)
            if self._thread is None and not self._is_closed:
                self._thread = Thread(target=self._look_around, name="sluice-streams", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _leave(self, watches: Sequence[Watch]) -> None:
        """One of those that are the same to the last word is as good as another."""
        with self._changed:
            self._watched.remove(watches)
            if not self._watched:
                # It grows old while nobody looks.
                self._known, self._failing_since = {}, None

    def _look_around(self) -> None:
        """What holds: between two looks there is at least the time between them, however many come and go."""
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

    def _look(self, watched: set[Watch]) -> Mapping[Watch, bytes] | None:
        """None where it cannot be told; the next look may."""
        try:
            found = self._ask(lambda tx: self._found(tx, watched))
        except SluiceError as error:
            _LOG.warning("what goes on cannot be told to those who watch: %s", error.what)
            return None
        except Exception:
            # A fault of ours must not end the one thread that looks for all; the log has what it was.
            _LOG.exception("A look at what goes on failed.")
            return None
        return {watch: msgspec.json.encode(document) for watch, document in found.items()}

    def _news(self, watches: Sequence[Watch], told: Mapping[Watch, bytes]) -> dict[Watch, bytes]:
        """What is known of these now, and was not told so."""
        known = {each: self._known[each] for each in watches if each in self._known} | {LEDGER: self._looks()}
        return {
            watch: data for watch, data in known.items() if _lasting(data) != _lasting(told.get(watch, b""))
        }

    def _looks(self) -> bytes:
        """Since when nothing can be seen of the ledger, if that is so."""
        since, now = self._looking_since, datetime.now(UTC)
        is_late = since is not None and (now - since).total_seconds() > LOOK_S_MAX
        unseen = self._failing_since or (since if is_late else None)
        return _SEEN if unseen is None else msgspec.json.encode({"unseen_since": unseen})

    def _found(self, tx: Tx, watched: set[Watch]) -> Mapping[Watch, Any]:
        jobs = [watch.of for watch in watched if isinstance(watch.of, JobName)]
        ids = [str(watch.of) for watch in watched if watch.kind == "submission"]
        found: dict[Watch, Any] = {
            Watch("job", JobName(each.app, each.key)): each for each in job_standings(tx, jobs)
        }
        for each in submission_standings(tx, ids, exact_max=EXACT_MAX, probes=PROBES):
            found[Watch("submission", each.id)] = each
        if Watch("schedules") in watched:
            found[Watch("schedules")] = {"schedules": schedules.schedules(tx, retired=False)}
        if Watch("overview") in watched:
            found[Watch("overview")] = self._overview(tx)
        return found


def read_watch(text: str) -> Watch:
    """BadRequest for what is none."""
    kind, _, of = text.partition(":")
    if text in ("overview", "schedules"):
        return Watch(text)
    app, _, key = of.partition("/")
    if kind == "job" and app and key:
        return Watch(kind, JobName(app, key))
    if kind == "submission" and of:
        return Watch(kind, of)
    raise BadRequest(
        f"{text!r} is nothing that can be watched.",
        advice="Watch overview, schedules, job:APP/KEY or submission:ID.",
    )


def _lasting(data: bytes) -> bytes:
    """All but the time of the look, which an overview begins with."""
    return data.partition(b",")[2] if data.startswith(b'{"at":') else data


def _event(watch: Watch, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (watch.kind.encode(), data)
