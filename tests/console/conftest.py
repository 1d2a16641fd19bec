"""A real console: a ledger, workers and the page, as ``sluice`` starts them, and a browser that shows it."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext

from sluice.jobs.states import TERMINAL
from sluice.ledger.database.connection import Ledger
from sluice.ledger.embedded import start
from tests.browser import chromium
from tests.console.visitor import WIDE, Visitor
from tests.console.works import SOURCES, write_works
from tests.ops.typist import Typist

STARTS_WITHIN_S = 60.0
ANSWERS_WITHIN_S = 30.0
#: Printed line with the address, without the log lines that also contain it.
_ADDRESS = re.compile(r"^(?:Listening at|The console is at) (http://\S+)\n", re.MULTILINE)
#: Token of consoles that get no other.
TOKEN = "the token of these tests"
SIGNED = {"Authorization": f"Bearer {TOKEN}"}


class Console(NamedTuple):
    """Running console. Its jobs run in ``folder``."""

    address: str
    folder: Path

    def asks(self, path: str, **document: Any) -> dict[str, Any]:
        """Make a call that changes something, as another user does meanwhile."""
        body, kind = json.dumps(document).encode(), {"Content-Type": "application/json", **SIGNED}
        request = urllib.request.Request(f"{self.address}/api/{path}", body, kind, method="POST")
        with urllib.request.urlopen(request, timeout=ANSWERS_WITHIN_S) as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def submits(self, app: str, key: str | None = None, **words: Any) -> None:
        self.asks("submissions", app=app, **({} if key is None else {"key": key}), **words)

    def ends(self, app: str, key: str) -> None:
        """Wait until a job, which was requested, has ended."""
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while self._state(app, key) not in TERMINAL:
            assert time.monotonic() < deadline, f"{app}/{key} is {self._state(app, key)}"
            time.sleep(0.05)

    def _state(self, app: str, key: str) -> str | None:
        query = urllib.parse.urlencode({"app": app, "key": key})
        request = urllib.request.Request(f"{self.address}/api/jobs?{query}", headers=SIGNED)
        with urllib.request.urlopen(request, timeout=ANSWERS_WITHIN_S) as answer:
            return next((job["state"] for job in json.load(answer)["jobs"] if job["key"] == key), None)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a browser for one module only.

    While it is open it has processes, and an event loop in this thread, which tests of other modules may not find
    there.
    """
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def console(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Yield a console for all tests of a module. Effects of one test are visible in the next.

    It depends on ``browser``, because it is not needed without one.
    """
    with console_in(tmp_path_factory.mktemp("console")) as found:
        yield found


@pytest.fixture(scope="module")
def context(browser: Browser, console: Console) -> Iterator[BrowserContext]:
    """Yield a context, which the pages of one browser share, for example with the fetched files."""
    with context_at(browser, console.address) as found:
        yield found


@pytest.fixture
def visitor(context: BrowserContext) -> Iterator[Visitor]:
    """Yield a visitor. Fail in the end if it had unexpected troubles."""
    with untroubled(Visitor(context)) as found:
        yield found


@pytest.fixture
def ledger(console: Console) -> Iterator[Ledger]:
    """Yield the ledger of the console."""
    with start(console.folder / "home") as postgres, closing(Ledger(postgres.url, connections=1)) as ledger:
        yield ledger


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder for pictures of the screens: ``SLUICE_TEST_SCREENSHOTS``, or a folder of pytest."""
    given = os.environ.get("SLUICE_TEST_SCREENSHOTS")
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def visiting(browser: Browser, address: str, size: tuple[int, int] = WIDE) -> Iterator[Visitor]:
    """Yield a visitor that is signed in and has never opened the console before."""
    with context_at(browser, address) as context, untroubled(Visitor(context, size)) as visitor:
        yield visitor


@contextmanager
def context_at(browser: Browser, address: str, token: str | None = TOKEN) -> Iterator[BrowserContext]:
    """Yield a browser context. Without a token it is not signed in."""
    context = browser.new_context(base_url=address, reduced_motion="reduce")
    try:
        if token is not None:
            assert context.request.post("/api/session", data={"token": token}).ok
        yield context
    finally:
        context.close()


@contextmanager
def untroubled(visitor: Visitor) -> Iterator[Visitor]:
    try:
        yield visitor
    finally:
        troubles = visitor.leaves()
    assert not troubles, "\n".join(troubles)


@contextmanager
def console_in(folder: Path, **settings: str) -> Iterator[Console]:
    """Run ``sluice up`` in this folder, at a free port."""
    write_works(folder)
    typist = Typist(
        folder, SLUICE_HOME=str(folder / "home"), SLUICE_APPS=SOURCES, SLUICE_TICK="200ms", **settings
    )
    with ExitStack() as stack:
        address = stack.enter_context(started(typist, "up", "--listen", "127.0.0.1:0"))
        yield Console(address, folder)


@contextmanager
def started(typist: Typist, *words: str, token: str | None = TOKEN) -> Iterator[str]:
    """Start a command. Yield the address that it prints, with a token if it made one. Terminate it in the end."""
    log = typist.folder / f"{words[0]}.log"
    with (
        log.open("w") as file,
        log.with_suffix(".errors").open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "sluice.ops.cli.main", *words],
            cwd=typist.folder,
            env={**({"SLUICE_CONSOLE_TOKEN": token} if token else {}), **typist.environment},
            stdout=file,
            stderr=errors,
        ) as process,
    ):
        try:
            yield _address(process, log)
        finally:
            process.terminate()
            try:
                process.wait(timeout=STARTS_WITHIN_S)
            finally:
                process.kill()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + STARTS_WITHIN_S
    while (found := _ADDRESS.search(log.read_text())) is None:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
    return found[1]
