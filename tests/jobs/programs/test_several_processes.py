"""Processes that share a store, and processes that die while they use it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from sluice.jobs.programs.errors import Unfit
from tests.jobs.programs.archives import RUN_SH, Member, archive
from tests.jobs.programs.shop import Shop, digest_of
from tests.jobs.programs.web_server import Reply, WebServer

ROOT = Path(__file__).parents[3]
ZIP = archive("zip")
PATIENCE_S = 60.0
#: Program that prints each message of the store and the output of ``run.sh``. Arguments: folder, source, code to run
#: first, hosts.
CODE = """
import subprocess, sys, threading
from pathlib import Path
from sluice.jobs.programs.source import Rules
from sluice.jobs.programs.store import ProgramStore
from sluice.jobs.programs.errors import Unfit
exec(sys.argv[3])
def say(line): print(line, flush=True)
store = ProgramStore(Path(sys.argv[1]), Rules(hosts=tuple(sys.argv[4:])))
try:
    with store.program("prog", sys.argv[2], stop=threading.Event(), say=say) as folder:
        print(subprocess.run(["./run.sh"], cwd=folder, capture_output=True, text=True).stdout, end="", flush=True)
        sys.stdin.read()
except Unfit as error:
    print("UNFIT", error, flush=True)
"""


class Other:
    """Another process that holds a program until ``end``."""

    def __init__(self, folder: Path, source: str, first: str = "", host: str = "127.0.0.1") -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", CODE, str(folder), source, first, host],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        self.lines.extend(iter(self._process.stdout.readline, ""))

    def said(self, words: str) -> bool:
        return any(words in line for line in list(self.lines))

    def end(self, number: int | None = None) -> list[str]:
        assert self._process.stdin is not None
        if number is not None:
            os.kill(self._process.pid, number)
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        return self.lines

    def close(self) -> None:
        """Kill the process and its children, if they are still alive."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join(PATIENCE_S)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def others() -> Iterator[list[Other]]:
    started: list[Other] = []
    yield started
    for other in started:
        other.close()


def eventually(happened: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not happened():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_of_two_processes_one_fetches_and_the_other_waits_for_it(
    shop: Shop, web: WebServer, others: list[Other]
) -> None:
    waiting = threading.Event()
    source = web.put(
        "/a.zip", headers=(("ETag", '"1"'),), length=len(ZIP), then=lambda handler: _once(waiting, handler)
    )
    others.append(Other(shop.folder, source))
    eventually(lambda: len(web.asked) == 1)
    others.append(Other(shop.folder, source))
    eventually(lambda: others[1].said("waiting for another run that fetches program 'prog'"))
    waiting.set()
    said = [other.end() for other in others]
    assert [lines[-1] for lines in said] == ["ran\n", "ran\n"]
    assert ["if-none-match" in asked.headers for asked in web.asked] == [False, True]
    assert shop.leftovers() == []


def test_waiting_processes_get_a_change_that_the_running_fetch_missed(
    shop: Shop, web: WebServer, others: list[Other]
) -> None:
    waiting = threading.Event()
    source = web.put(
        "/a.zip", headers=(("ETag", '"1"'),), length=len(ZIP), then=lambda handler: _once(waiting, handler)
    )
    others.append(Other(shop.folder, source))
    eventually(lambda: len(web.asked) == 1)
    new = archive("zip", [Member("run.sh", b"#!/bin/sh\necho new\n", mode=0o755)])
    web.put("/a.zip", new, headers=(("ETag", '"2"'),))
    others += [Other(shop.folder, source) for _ in range(2)]
    eventually(lambda: all(other.said("waiting for another run") for other in others[1:]))
    waiting.set()
    assert [other.end()[-1] for other in others] == ["ran\n", "new\n", "new\n"]
    assert len(web.asked) == 2


def _once(waiting: threading.Event, handler: object) -> None:
    waiting.wait(PATIENCE_S)
    handler.wfile.write(ZIP)  # type: ignore[attr-defined] # the handler of a request


def test_a_wait_for_another_process_can_be_stopped_and_times_out(
    shop: Shop, web: WebServer, others: list[Other]
) -> None:
    source = web.put("/a.zip", b"", length=1, then=web.hang)
    others.append(Other(shop.folder, source))
    eventually(lambda: len(web.asked) == 1)
    for number in range(2):
        threading.Thread(target=_stop_when_waiting, args=(shop, number), daemon=True).start()
        with pytest.raises(Unfit, match="it took longer than 0.5 s" if number else "was stopped"):
            shop.run(source, fetch_timeout_s=0.5 if number else 3600)
        shop.stop.clear()
    assert shop.said == ["waiting for another run that fetches program 'prog'"] * 2


def test_a_pinned_version_in_the_store_does_not_wait_for_a_fetch(
    shop: Shop, web: WebServer, others: list[Other]
) -> None:
    source = web.put("/a.zip", ZIP)
    shop.run(source)
    web.put("/a.zip", b"", length=1, then=web.hang)
    others.append(Other(shop.folder, source))
    eventually(lambda: len(web.asked) == 2)
    assert shop.run(source, digest_of(ZIP)) == "ran\n"
    assert len(shop.said) == 2


def _stop_when_waiting(shop: Shop, number: int) -> None:
    if number == 0:
        eventually(lambda: len(shop.said) == 1)
        shop.stop.set()


def test_a_process_killed_during_a_fetch_does_not_block_other_processes(
    shop: Shop, web: WebServer, others: list[Other]
) -> None:
    source = web.put("/a.zip", ZIP[:50], length=len(ZIP), then=web.hang)
    others.append(Other(shop.folder, source))
    eventually(lambda: any(path.stat().st_size == 50 for path in shop.folder.glob("aside/*/fetched")))
    others[0].end(signal.SIGKILL)
    assert shop.leftovers() != []
    web.replies["/a.zip"] = Reply(ZIP)
    assert shop.run(source) == "ran\n"
    assert shop.leftovers() == []


#: Code that stops the process before the third file of an archive is created.
UNPACKS_SLOWLY = """
import time
from sluice.jobs.programs.archive.safe_tree import Tree
made, made_file = [], Tree.add_file
def add_file(self, *words):
    made.append(words)
    if len(made) == 3:
        print("in the middle", flush=True)
        time.sleep(3600)
    made_file(self, *words)
Tree.add_file = add_file
"""
PUBLISHES_SLOWLY = """
import time
from sluice.jobs.programs.store import ProgramStore
def publish(*_):
    print("in the middle", flush=True)
    time.sleep(3600)
ProgramStore._publish = publish
"""
RECORDS_SLOWLY = """
import time, sluice.jobs.programs.store
def write(*_):
    print("in the middle", flush=True)
    time.sleep(3600)
sluice.jobs.programs.store.write_record = write
"""
COPIES_SLOWLY = """
import time, sluice.jobs.programs.store
def copy(version, folder, *_, **__):
    folder.mkdir()
    (folder / "half").write_text("x")
    print("in the middle", flush=True)
    time.sleep(3600)
sluice.jobs.programs.store.copy_version = copy
"""


@pytest.mark.parametrize("slowly", [UNPACKS_SLOWLY, PUBLISHES_SLOWLY, RECORDS_SLOWLY, COPIES_SLOWLY])
def test_a_process_killed_at_any_step_leaves_no_incomplete_version(
    shop: Shop, others: list[Other], slowly: str
) -> None:
    members = [RUN_SH, *(Member(f"data/{number}", b"data") for number in range(5))]
    source = shop.put("a.tar.gz", archive("tar.gz", members))
    others.append(Other(shop.folder, source, slowly))
    eventually(lambda: others[0].said("in the middle"))
    assert len(shop.versions()) == (slowly in {RECORDS_SLOWLY, COPIES_SLOWLY})
    others[0].end(signal.SIGKILL)
    with shop.program(source) as folder:
        assert len(list(folder.rglob("*"))) == 7
        assert [path.parent for path in shop.leftovers()] == [shop.folder / "runs"]
    assert shop.leftovers() == []


def test_the_folder_of_a_run_is_removed_only_after_its_process_has_ended(
    shop: Shop, others: list[Other]
) -> None:
    source = shop.put("a.zip", ZIP)
    others += [Other(shop.folder, source), Other(shop.folder, source)]
    eventually(lambda: all(other.said("ran") for other in others))
    assert len(shop.leftovers()) == 2
    others[0].end(signal.SIGKILL)
    shop.run(source)
    assert len(shop.leftovers()) == 1
    assert others[1].end()[-1] == "ran\n"
    assert shop.leftovers() == []
