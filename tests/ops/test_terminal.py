"""Output of runs and logs on a terminal."""

import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.ops.cli.terminal import harmless, harmless_pieces
from tests.ops.typist import Typist

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def test_a_run_draws_bars_and_leaves_a_summary(desk: Typist) -> None:
    go = desk.folder / "go"
    desk.apps(
        "held.json",
        {"held": {"job_id": "{n}", "bash_cmd": f"until [ -e {go} ]; do sleep 0.05; done"}},
    )

    def release(drawn: str) -> None:
        """Let the job end once the terminal shows that it runs."""
        if "0/1 1 running" in drawn and "running held/1" in drawn:
            go.touch()

    drawn = _on_a_terminal(desk, "--apps", "held.json", "run", "held", "1", seen=release)
    plain = ESCAPES.sub("", drawn)
    assert "━" * 24 in plain
    *_, table, job, end = plain.splitlines()
    assert table.split() == ["app", "jobs", "took", "work", "outcome"]
    assert re.fullmatch(r"held +1 +\d.* +\d.* +1 succeeded", job)
    assert end.startswith("succeeded: 1 succeeded in ")
    assert drawn.endswith(f"\x1b[32m{end}\x1b[0m\n")


TALKS = """
import logging
import sys
import time
from sluice import app

@app(job_id="{n}")
def talk(n):
    print("printed", n)
    print("aside", file=sys.stderr)
    logging.getLogger("acme").warning("logged")
    time.sleep(0.5)
"""


def test_what_a_function_prints_is_above_the_bars_and_in_its_output_without_them(desk: Typist) -> None:
    desk.write("talks.py", TALKS)
    drawn = ESCAPES.sub("", _on_a_terminal(desk, "--apps", "talks.py", "run", "talk", "1"))
    assert [drawn.count(text) for text in ("printed 1", "aside", "WARNING acme: logged")] == [1, 1, 1]
    (round_,) = desk.asks("--apps", "talks.py", "logs", "talk", "1")["rounds"]
    printed, aside, logged = round_["output"].splitlines()
    assert (printed, aside, logged.partition("Z ")[2]) == ("printed 1", "aside", "WARNING acme: logged")
    assert round_["stderr"] == "aside\n"


@pytest.mark.parametrize("lines", [0, 30_000], ids=["in the ledger", "in the blob store"])
def test_output_of_a_job_cannot_control_the_terminal(desk: Typist, lines: int) -> None:
    key = str(lines)
    command = f"printf '\\033[31mred\\033]0;title\\007\\033[2J\\n'; seq {lines}"
    desk.apps("evil.json", {"evil": {"job_id": "{n}", "bash_cmd": command, "keep_output": True}})
    assert desk.types("--apps", "evil.json", "run", "evil", key).code == 0
    drawn = _on_a_terminal(desk, "--apps", "evil.json", "logs", "evil", key)
    assert "\x1b[31mred\ufffd]0;title\ufffd\ufffd[2J" in drawn
    assert (f"\n{lines // 2}\n" in drawn) == bool(lines), "the ledger has only the ends of a long output"
    assert "\x1b]0;title\x07" in desk.types("--apps", "evil.json", "logs", "evil", key).out


@given(st.text(alphabet="a\r\n\x1b[31m;\u00e9\u202e"), st.lists(st.integers(0, 40)))
def test_text_in_pieces_is_cleaned_as_in_one(text: str, cuts: list[int]) -> None:
    sent = text.encode()
    edges = [0, *sorted(cuts), len(sent)]
    pieces = b"".join(harmless_pieces(sent[begin:end] for begin, end in pairwise(edges)))
    assert pieces.decode() == harmless(text)
    assert not set(re.sub(r"\x1b\[[0-9;]*m", "", harmless(text))) & set("\x1b\r\u202e")


def _on_a_terminal(typist: Typist, *words: str, seen: Callable[[str], None] = lambda _: None) -> str:
    """Return all output of a command on a terminal of 80 columns. ``seen`` gets the text after each piece."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 80))
    process = subprocess.Popen(
        [sys.executable, "-m", "sluice.ops.cli.main", *words],
        cwd=typist.folder,
        env=typist.environment | {"TERM": "xterm-256color", "COLUMNS": "80", "LANG": "C.UTF-8"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    while piece := _read(ours):
        written += piece
        seen(ESCAPES.sub("", written.decode(errors="ignore")))
    assert process.wait(timeout=20) == 0, written
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


def _read(terminal: int) -> bytes:
    """Return the next bytes, or none if the other end is closed, which Linux reports as an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
