"""Documents whose commands are run: every file they show is written, every command typed, every answer compared.

Times, durations, hosts, ids, versions and handles are not compared, nor how wide a column is for their sake.

``python -m tests.ops.transcripts docs/tutorial.md`` runs one anew and writes down what the commands answered. A line
that says the same as before stays as it is.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from sluice.ledger.embedded import start
from tests.ops.typist import ROOT

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.\w+)\n")
#: What is different each time: an instant, a duration, a worker, a submission, the handle of a process. And what is
#: different when a definition is read in another way: a version, which no key of days is mistaken for.
_CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d([.,]\d+)?|[\d.]+ (ms|s|min)\b|\bon \S+:\d+|\b[0-9a-f]{8}(-[0-9a-f]{4,12}){4}"
    r'|\{"pid":.*\}|\b(?=\d*[a-f])[0-9a-f]{8}\b'
)
_SEAM = "--- end of answer ---"


class Step(NamedTuple):
    """A command as it is typed, and the lines that it is said to answer."""

    command: str
    answer: tuple[str, ...]


class Document:
    """Steps run in one shell and one folder, so that each finds what those before it left."""

    def __init__(self, text: str, folder: Path, *, timeout_s: float = 900) -> None:
        self._text = text
        self._folder = folder
        self._timeout_s = timeout_s

    def run(self) -> Iterator[tuple[Step, list[str]]]:
        """Each step, with the lines it has answered."""
        steps = list(self._steps())
        script = "\n".join(action for _, action in steps)
        out, err = self._typed(script)
        answers = out.split(f"{_SEAM}\n")
        typed = [step for step, _ in steps if step]
        assert len(answers) == len(typed) + 1, out + err
        for step, answer in zip(typed, answers, strict=False):
            yield step, [line.rstrip() for line in answer.splitlines()]

    def _typed(self, script: str) -> tuple[str, str]:
        """What it prints. Nothing that it has started in the background is left behind."""
        with subprocess.Popen(
            ["bash", "-c", script],
            cwd=self._folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as shell:
            try:
                return shell.communicate(timeout=self._timeout_s)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)

    def _steps(self) -> Iterator[tuple[Step | None, str]]:
        """What is typed, and what the shell is told to do for it."""
        for language, body in _BLOCK.findall(self._text):
            if language == "console":
                for step in _typed(body):
                    yield step, f"{{ {step.command}\n}} 2>&1\necho '{_SEAM}'"
            elif name := _FILE.match(body):
                yield None, f"cat > {name[1]} <<'END OF FILE'\n{body}END OF FILE"

    def _environment(self) -> Mapping[str, str]:
        """Where the package is not installed, a script of its name starts the command."""
        programs = self._folder / "bin"
        programs.mkdir()
        sluice = programs / "sluice"
        sluice.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sluice.ops.cli.main "$@"\n')
        sluice.chmod(0o755)
        outer = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
        return outer | {"PYTHONPATH": str(ROOT), "PATH": f"{programs}:{outer['PATH']}"}


def said(line: str) -> str:
    """What a line says, whenever and wherever it is said."""
    return " ".join(_CHANGING.sub("…", line).split())


def renewed(text: str, folder: Path) -> str:
    """The document with the answers that its commands give now."""
    answers = iter(list(Document(text, folder).run()))

    def block(match: re.Match[str]) -> str:
        if match[1] != "console":
            return match[0]
        lines: list[str] = []
        for step in _typed(match[2]):
            _, told = next(answers)
            lines.append(f"$ {step.command}")
            lines += [_kept(old, new) for old, new in zip_longest(step.answer, told) if new is not None]
        return "\n".join(["```console", *lines, "```"])

    return _BLOCK.sub(block, text)


def _kept(old: str | None, new: str) -> str:
    return old if old is not None and said(old) == said(new) else new


def _typed(body: str) -> Iterator[Step]:
    command: str | None = None
    answer: list[str] = []
    for line in body.splitlines():
        if line.startswith("$ "):
            if command is not None:
                yield Step(command, tuple(answer))
            command, answer = line[2:], []
        else:
            answer.append(line)
    if command is not None:
        yield Step(command, tuple(answer))


if __name__ == "__main__":
    document = Path(sys.argv[1])
    with (
        tempfile.TemporaryDirectory() as scratch,
        start(Path(scratch) / ".sluice", durable=False),
    ):
        document.write_text(renewed(document.read_text(), Path(scratch)))
