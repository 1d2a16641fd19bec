"""Submitter of a run: by the ledger, by a message, or by HTTP, over wires that are cut as well.

It cancels some submissions, and pauses some submissions or an app for a while. A submission counts as accepted after a
reply has confirmed it. Until then it is sent again under the same id, in the same way.
"""

import http.client
import json
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event, Thread

import msgspec

from sluice.actors.client import Client
from sluice.broker.interface import Broker
from sluice.broker.messages import Cancel, Submit
from sluice.jobs.errors import BadRequest, SluiceError
from sluice.jobs.model.submission import Submission
from tests.chaos.fleet import CONSOLE_TOKEN
from tests.chaos.record import Record
from tests.chaos.workload import Workload

#: Submissions per batch. The next batch is sent when few enough jobs are left.
_BATCH = 12
#: Seconds to wait after a batch, because messages are not counted before a planner has processed them.
_PAUSE_S = 0.1
_AGAIN_AFTER_S = 0.2
_HTTP_TIMEOUT_S = 10.0
_HEADERS = {"Content-Type": "application/json", "Authorization": f"Bearer {CONSOLE_TOKEN}"}
_BY = ("ledger", "ledger", "ledger", "message", "message", "http")
_CANCELLED, _PAUSED, _APP_PAUSED = 0.04, 0.04, 0.1
_PAUSABLE = ("crown", "nap", "narrow", "beat")


class Sender:
    """Thread that submits. ``live`` returns the number of live jobs. If it is below ``enough``, a batch is submitted.

    ``error`` is the reason if it broke off.
    """

    def __init__(
        self,
        *,
        seed: int,
        record: Record,
        client: Client,
        broker: Broker,
        console: tuple[str, int],
        live: Callable[[], int],
        enough: int,
    ) -> None:
        self._rng = random.Random(f"{seed}/sender")
        self._workload = Workload(seed)
        self._record, self._client, self._broker, self._console = record, client, broker, console
        self._live, self._enough = live, enough
        self._first = ["http", "message", "ledger"]
        self._held: list[str] = []
        self._held_apps: list[str] = []
        self.error: BaseException | None = None
        self._over = Event()
        self._thread = Thread(target=self._work, name="sender")

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Stop. A batch that is being sent is given up, because it was not confirmed."""
        self._over.set()
        self._thread.join()

    def let_go(self) -> None:
        """Resume all paused submissions and apps. Call it after the end, when everything has healed."""
        self._over.clear()
        self._let_go()
        self._over.set()

    def _work(self) -> None:
        try:
            while not self._over.is_set():
                if self._live() >= self._enough:
                    self._over.wait(0.05)
                    continue
                batch = [self._workload.next() for _ in range(_BATCH)]
                drawn = self._rng.choice(_BY)
                by = self._first.pop() if self._first else drawn
                if self._persist(lambda batch=batch, by=by: self._send(batch, by)):
                    for each in batch:
                        self._record.accepted(each.require_id(), each.app, by)
                    self._let_go()
                    self._cancel_some(batch)
                    self._hold_some(batch)
                    self._over.wait(_PAUSE_S)
        except BaseException as error:
            self.error = error

    def _persist(self, deed: Callable[[], object]) -> bool:
        """Repeat the deed until it succeeds. Return whether it did, before the sender was stopped."""
        while not self._over.is_set():
            try:
                deed()
            except (SluiceError, OSError, http.client.HTTPException):
                self._over.wait(_AGAIN_AFTER_S)
            else:
                return True
        return False

    def _send(self, batch: Sequence[Submission], by: str) -> None:
        if by == "ledger":
            self._client.submit_many(batch)
        elif by == "message":
            self._broker.publish([Submit(id=each.require_id(), submission=_words(each)) for each in batch])
        else:
            for each in batch:
                self._post(each)

    def _post(self, submission: Submission) -> None:
        connection = http.client.HTTPConnection(*self._console, timeout=_HTTP_TIMEOUT_S)
        try:
            words = msgspec.json.encode(submission)
            connection.request("POST", "/api/submissions", words, _HEADERS)
            reply = connection.getresponse()
            said = reply.read()
            if reply.status >= 300:
                raise ConnectionError(f"{reply.status}: {said!r}")
            if json.loads(said)["submission"] != submission.id:
                raise ValueError(f"the console took {submission.id} for {said!r}")
        finally:
            connection.close()

    def _cancel_some(self, batch: Sequence[Submission]) -> None:
        for each in batch:
            if self._rng.random() < _CANCELLED:
                time.sleep(self._rng.random() / 5)
                self._persist(lambda each=each: self._cancel(each.require_id()))

    def _hold_some(self, batch: Sequence[Submission]) -> None:
        """Pause some submissions or an app until the next batch is sent.

        Each is noted first, because a failed call may have been executed.
        """
        for each in batch:
            if self._rng.random() < _PAUSED:
                self._held.append(each.require_id())
                self._persist(lambda: self._whether_or_not(lambda: self._client.pause(self._held[-1])))
        if self._rng.random() < _APP_PAUSED:
            self._held_apps.append(self._rng.choice(_PAUSABLE))
            self._persist(lambda: self._client.pause_apps(self._held_apps, by="chaos"))

    def _let_go(self) -> None:
        while self._held and self._persist(
            lambda: self._whether_or_not(lambda: self._client.resume(self._held[-1]))
        ):
            self._held.pop()
        if self._held_apps and self._persist(lambda: self._client.resume_apps(self._held_apps)):
            self._held_apps.clear()

    def _whether_or_not(self, deed: Callable[[], object]) -> None:
        """Run the deed, and ignore a refusal: the submission may have ended, or its message is not processed yet."""
        with suppress(BadRequest):
            deed()

    def _cancel(self, id_: str) -> None:
        if self._rng.random() < 0.5:
            self._broker.publish([Cancel(submission=id_)])
            return
        self._whether_or_not(lambda: self._client.cancel(id_))


def _words(submission: Submission) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(submission))
