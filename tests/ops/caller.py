"""HTTP client of a running console."""

import http.client
import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.ops.typist import Typist, ended

TIMEOUT_S = 30
#: Seconds within which a stream must send the expected events.
HEARD_S = 60.0


class Told(NamedTuple):
    """Response to a request."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def document(self) -> Any:
        return json.loads(self.body)


class Caller:
    """HTTP client of a console on this machine. ``headers`` are sent with each request."""

    def __init__(self, port: int, **headers: str) -> None:
        self.port = port
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}

    def gets(self, path: str, **headers: str) -> Told:
        return self.calls("GET", path, None, **headers)

    def reads(self, path: str) -> Any:
        """Return the document at this path. The status must be 200."""
        told = self.gets(path)
        assert told.status == 200, told
        return told.document

    def posts(self, path: str, document: Any = None, **headers: str) -> Told:
        return self.calls("POST", path, {} if document is None else document, **headers)

    def calls(self, method: str, path: str, document: Any, **headers: str) -> Told:
        sent = {name.replace("_", "-"): text for name, text in headers.items()}
        body = None if document is None else json.dumps(document)
        kind = {} if body is None else {"Content-Type": "application/json"}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)) as connection:
            connection.request(method, path, body, {**self.headers, **kind, **sent})
            response = connection.getresponse()
            return Told(response.status, dict(response.getheaders()), response.read())

    @contextmanager
    def hears(self, *watches: str) -> Iterator[Iterator[tuple[str, Any]]]:
        """Yield the events of a stream as they arrive, each with its name and its document. A comment has an empty
        name.
        """
        query = "&".join(f"watch={quote(watch, safe='')}" for watch in watches)
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)) as connection:
            connection.request("GET", f"/api/events?{query}", headers=self.headers)
            response = connection.getresponse()
            assert response.status == 200, response.read()
            yield _events(response)


@contextmanager
def console(typist: Typist, *words: str, **settings: str) -> Iterator[Caller]:
    """Run a console in a process of its own. It must exit with code 0."""
    with typist.starts("console", "--listen", "127.0.0.1:0", *words, **settings) as process:
        yield printed(
            _start_line(process, is_json=(typist.environment | settings).get("SLUICE_LOG") == "json")
        )
        process.send_signal(signal.SIGTERM)
        assert ended(process).code == 0


def _start_line(process: subprocess.Popen[str], *, is_json: bool) -> str:
    """Return the line with the address. If the log is JSON, it is the only output."""
    assert process.stdout
    assert process.stderr
    if not is_json:
        return process.stdout.readline()
    return next(line for line in process.stderr if "listening at" in line)


def printed(line: str) -> Caller:
    """Return a client for the address that a command prints, with the token from the address if it has one."""
    found = re.search(r"http://127\.0\.0\.1:(\d+)(?:/#token=(\S+))?", line)
    assert found, line
    return Caller(int(found[1]), **({"Authorization": f"Bearer {found[2]}"} if found[2] else {}))


def _events(lines: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    name, deadline = "", time.monotonic() + HEARD_S
    for line in map(bytes.decode, lines):
        assert time.monotonic() < deadline, "the expected event was not sent in time"
        word, _, text = line.rstrip("\n").partition(": ")
        if word == "event":
            name = text
        elif word == "data":
            yield name, json.loads(text)
        elif word == "":
            yield "", text


def names(found: Sequence[Mapping[str, Any]], word: str) -> list[Any]:
    return [each[word] for each in found]
