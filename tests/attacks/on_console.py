"""The console: slow, many and malformed requests, and tokens that are wrong or missing."""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Event, Thread

from tests.attacks.attack import attack
from tests.attacks.installation import OPERATE, VIEW, Installation, line
from tests.homes import started_ledger
from tests.ops.caller import Caller, printed
from tests.ops.typist import Typist

#: Slow connections, and the seconds for which they are kept open.
LORIS, LORIS_S = 40, 6.0
GUESSES = 540
#: Requests with the right token during an attack.
RIGHT = 12


@attack("40 connections that send a byte in a second")
def slow_connections(place: Installation) -> str:
    with _loris(place.port) as closed:
        took = [_timed(place) for _ in range(RIGHT)]
        place.wait(lambda: len(closed) == LORIS, within_s=60, explain=lambda: f"{len(closed)} were closed")
    return f"all were closed; the slowest of {RIGHT} right requests took {max(took):.2f} s"


@attack("540 guesses of the token at once")
def guesses(place: Installation) -> str:
    request = b"GET /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer guess-%d\r\n\r\n"
    with ExitStack() as stack:
        for number in range(GUESSES):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", place.port), timeout=20))
            with suppress(OSError):  # The console may have closed it to make room.
                connection.sendall(request % number)
        took = [_timed(place) for _ in range(RIGHT)]
    return f"the slowest of {RIGHT} right requests took {max(took):.2f} s"


@attack("requests that a proxy and the console could read differently")
def smuggled(place: Installation) -> str:
    right = f"Authorization: Bearer {OPERATE}".encode()
    body = b'{"app":"nightly","key":"smuggled"}'
    heads = (
        b"Content-Length : %d\r\n" % len(body),
        b"no colon\r\n",
        b"X: 1\rX-Forwarded-For: 192.0.2.1\r\n",
        b"X: 1\r\n folded\r\n",
        b"Content-Length: 0\r\nContent-Length: %d\r\n" % len(body),
        b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(body),
    )
    refusals = []
    for head in heads:
        first = b"POST /api/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        answers = _raw(place.port, first + head + right + b"\r\n\r\n" + body)
        assert answers.count(b"HTTP/1.1 ") == 1, answers
        assert answers.startswith((b"HTTP/1.1 400", b"HTTP/1.1 411")), (head, answers)
        refusals.append(json.loads(answers.partition(b"\r\n\r\n")[2])["detail"])
    assert place.asks("SELECT 1 FROM job WHERE key = 'smuggled'") == []
    return line(str(refusals[0]))


@attack("text of the sender's own in the log, as an address")
def forged_address(place: Installation) -> str:
    stranger = Caller(place.port, Authorization="Bearer wrong")
    for text, status in (("fe80::1%FORGED", 401), ("192.0.2.1 FORGED", 401), ("FORGED\x1b[2J", 400)):
        answer = stranger.gets("/api/jobs", X_Forwarded_For=text)
        assert answer.status == status, answer
    assert "FORGED" not in place.log("console")
    told = [each for each in place.log("console").splitlines() if "a token was refused" in each]
    assert told
    return line(told[-1])


@attack("requests without a token, and with that to look")
def without_rights(place: Installation) -> str:
    wanted = {"app": "nightly", "key": "without"}
    nobody = Caller(place.port)
    assert nobody.posts("/api/submissions", wanted).status == 401
    assert nobody.gets("/api/jobs").status == 401
    answer = place.viewer.posts("/api/submissions", wanted)
    assert answer.status == 403, answer
    stranger = place.operator.posts("/api/submissions", wanted, Origin="http://evil.example")
    assert stranger.status == 403, stranger
    return line(str(answer.document["detail"]))


@attack("the console of sluice up, without a token, by another user of the machine")
def console_of_up(place: Installation) -> str:
    folder = place.folder / "alone"
    folder.mkdir()
    typist = Typist(folder, SLUICE_HOME=str(folder / "home"), SLUICE_APPS=str(place.apps))
    with started_ledger(folder / "home"), typist.starts("up", "--listen", "127.0.0.1:0") as up:
        assert up.stdout
        known = printed(next(each for each in up.stdout if "console" in each))
        wanted = {"app": "lent", "key": "x", "policy": {"env": {"BASH_ENV": "/tmp/evil.sh"}}}
        answer = Caller(known.port).posts("/api/submissions", wanted)
        assert answer.status == 401, answer
        assert known.gets("/api/jobs").status == 200
        assert (folder / "home" / "console.token").stat().st_mode & 0o077 == 0
    return line(str(answer.document["detail"]))


@attack("a token of a few characters")
def short_token(place: Installation) -> str:
    typist = place.typist("worker")
    said = typist.runs("console", "--listen", "127.0.0.1:0", SLUICE_CONSOLE_TOKEN="tok")
    assert said.code == 2, said
    return line(said.err)


@attack("passwords of a submission's environment, looked at by a viewer")
def environments(place: Installation) -> str:
    wanted = {"app": "quiet", "key": "3", "policy": {"env": {"DB_PASSWORD": "hunter2-secret"}}}
    wanted["kwargs"] = {"page": "http://me:hunter2-secret@host/"}
    id_ = place.submits_by_http(wanted)
    place.settled(id_)
    for path in (f"/api/submissions/{id_}", "/api/submissions", "/api/jobs/quiet/3", "/api/jobs/quiet/3/why"):
        answer = place.viewer.gets(path)
        assert answer.status == 200, answer
        assert b"hunter2-secret" not in answer.body, (path, answer.body)
    assert b"hunter2-secret" not in place.operator.gets("/api/audit").body
    shown = place.viewer.reads(f"/api/submissions/{id_}")["request"]["policy"]
    return line(json.dumps(shown))


def _timed(place: Installation) -> float:
    began = time.monotonic()
    answer = Caller(place.port, Authorization=f"Bearer {VIEW}").gets("/api/workers")
    assert answer.status == 200, answer
    return time.monotonic() - began


@contextmanager
def _loris(port: int) -> Iterator[list[int]]:
    """Send requests that never end, without a token.

    Yield a list that grows with each connection that the console closes.
    """
    closed: list[int] = []
    is_over = Event()

    def drip(number: int) -> None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            for byte in b"POST /api/submissions HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 60:
                connection.sendall(bytes([byte]))
                if is_over.wait(1.0):
                    return
        closed.append(number)

    threads = [Thread(target=drip, args=(number,)) for number in range(LORIS)]
    for thread in threads:
        thread.start()
    try:
        yield closed
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def _raw(port: int, sent: bytes) -> bytes:
    """Send these bytes. Return the whole answer until the console closes the connection."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(sent)
        with suppress(ConnectionResetError):
            while piece := connection.recv(65536):
                found += piece
    return found
