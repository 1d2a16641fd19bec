"""Sender of lineage events: one after the other, in a thread of its own. No other thread waits for it."""

import logging
from http.client import HTTPException
from queue import Empty, Full, Queue
from threading import Event as Signal
from threading import Thread
from time import monotonic
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from sluice.jobs.text.server_address import without_password

_LOG = logging.getLogger("sluice.lineage")

#: Maximum number of waiting events.
WAITING_MAX = 1000
#: Seconds that the server has for one answer, and the pauses between the attempts.
PATIENCE_S = 5.0
PAUSES_S = (0.5, 2.0)
#: Seconds that the end of a process waits for the remaining events.
GOODBYE_S = 3.0
#: Minimum number of seconds between two log lines about dropped events.
SAID_EVERY_S = 60.0
_PATH = "/api/v1/lineage"
_SERVER_ERROR = 500


class EventSender:
    """Queue and thread for one server. ``url`` is the address of the server, or the exact address of its endpoint."""

    def __init__(self, url: str, token: str | None) -> None:
        self.dropped = 0
        self.sent = 0
        self._url = url if urlsplit(url).path.strip("/") else url.rstrip("/") + _PATH
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._waiting: Queue[bytes] = Queue(WAITING_MAX)
        self._leaving = Signal()
        self._unsaid = 0
        self._said_at = -SAID_EVERY_S
        self._thread = Thread(target=self._send_all, name="sluice-lineage", daemon=True)
        self._thread.start()

    def send(self, body: bytes) -> None:
        """Send an event in the background. It is dropped if too many events wait."""
        try:
            self._waiting.put_nowait(body)
        except Full:
            self._drop("too many events wait")

    def close(self) -> None:
        """Send the waiting events within a bounded time."""
        self._leaving.set()
        self._thread.join(GOODBYE_S)
        left = self._waiting.qsize()
        self.dropped += left
        if self._unsaid + left:
            _LOG.warning("%d lineage events were dropped, the last at shutdown", self._unsaid + left)

    def _send_all(self) -> None:
        while not (self._leaving.is_set() and self._waiting.empty()):
            try:
                body = self._waiting.get(timeout=0.2)
            except Empty:
                continue
            self._deliver(body)

    def _deliver(self, body: bytes) -> None:
        """Send one event. If the server refuses it, it is dropped immediately. If the server is unreachable or has an
        error, it is dropped after several attempts."""
        trouble = ""
        for pause_s in (*PAUSES_S, 0.0):
            try:
                request = Request(self._url, data=body, headers=self._headers, method="POST")  # noqa: S310 - the operator's own address
                with urlopen(request, timeout=PATIENCE_S):  # noqa: S310 - the operator's own address
                    self.sent += 1
                    return
            except HTTPError as error:
                trouble = f"{error.code} {error.reason}"
                if error.code < _SERVER_ERROR:
                    break
            except (OSError, HTTPException) as error:
                trouble = str(error)
            if self._leaving.wait(pause_s):
                break
        self._drop(trouble)

    def _drop(self, why: str) -> None:
        self.dropped += 1
        self._unsaid += 1
        if monotonic() - self._said_at < SAID_EVERY_S:
            return
        self._said_at = monotonic()
        many, self._unsaid = self._unsaid, 0
        where = without_password(self._url)
        _LOG.warning("%d lineage events were dropped, %d in all; %s: %s", many, self.dropped, where, why)
