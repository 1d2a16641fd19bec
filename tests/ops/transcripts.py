"""Documents with commands: every shown file is written, every command is run, and every answer is compared.

Times, durations, hosts, ids, versions and handles are not compared. Nor are the widths of columns, which depend on
them.

``python -m tests.ops.transcripts docs/tutorial.md`` runs a document again and writes the new answers into it. A line
with the same content as before stays unchanged.
"""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from threading import Timer
from typing import IO, NamedTuple

from sluice.ledger.embedded import start
from tests.ops.typist import ROOT

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# (\S+\.\w+)\n")
#: Parts that differ each time: an instant, also of a line of a log, a duration, also of pytest, a worker, a submission,
#: the handle of a process, the schema of the ledger. A version differs if a definition is read in another way. The
#: pattern of a version does not match a day in a key.
_CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d([.,]\d+)?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (?=[A-Z]+ )"
    r"|[\d.]+ (ms|s|min( [\d.]+ s)?)\b|\bin [\d.]+s\b"
    r"|\bon \S+:\d+|^[\w.-]+:\d+(?= )|\b[0-9a-f]{8}(-[0-9a-f]{4,12}){4}"
    r'|\{"pid":.*\}|\b(?=\d*[a-f])[0-9a-f]{8}\b|(?<=ledger is at )\d{4}'
)
_SEAM = "--- end of answer ---"


class Step(NamedTuple):
    """A command as it is typed, and the lines that it should print."""

    command: str
    answer: tuple[str, ...]


class Document:
    """Steps that run in one shell and one folder, so that each step finds the results of earlier ones."""

    def __init__(
        self, text: str, folder: Path, *, timeout_s: float = 900, environment: Mapping[str, str] | None = None
    ) -> None:
        """Without an environment, ``sluice`` and ``python`` are those of the checkout."""
        self._text = text
        self._folder = folder
        self._timeout_s = timeout_s
        self._environment = environment or _of_the_checkout(folder)

    def run(self) -> Iterator[tuple[Step, list[str]]]:
        """Yield each step with the lines that it has printed, while the next step runs."""
        steps = list(self._steps())
        with self._shell("\n".join(action for _, action in steps)) as (out, err):
            for step, _ in steps:
                if step:
                    answer = _answer(out)
                    assert answer is not None, f"{step.command}\n{_read(err)}"
                    yield step, answer
            out.read()

    def check(self, *, unordered: str | None = None) -> list[tuple[Step, list[str]]]:
        """Run the steps, compare each answer with the shown one, and return them."""
        return list(self.checked(unordered=unordered))

    def checked(self, *, unordered: str | None = None) -> Iterator[tuple[Step, list[str]]]:
        """Yield each step, as ``run`` does, after its answer is compared with the shown one.

        ``unordered`` begins the commands whose lines may come in any order. A run lists its apps in the order in which
        they began, and apps that run at once may begin in any order. The same holds for the ends of jobs in a list.
        """
        for step, told in self.run():
            is_unordered = unordered is not None and step.command.startswith(unordered)
            order = sorted if is_unordered else list
            assert order(map(said, told)) == order(map(said, step.answer)), "\n".join([step.command, *told])
            yield step, told

    @contextmanager
    def _shell(self, script: str) -> Iterator[tuple[IO[str], IO[str]]]:
        """Start a script. Yield its output and its errors. At the end, and after the timeout, its processes are
        killed, also the ones in the background."""
        with (
            tempfile.TemporaryFile("w+") as errors,
            subprocess.Popen(
                ["bash", "-c", script],
                cwd=self._folder,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            ) as shell,
        ):
            timeout = Timer(self._timeout_s, _kill, [shell])
            timeout.start()
            try:
                assert shell.stdout
                yield shell.stdout, errors
            finally:
                timeout.cancel()
                _kill(shell)

    def _steps(self) -> Iterator[tuple[Step | None, str]]:
        """Yield each step with the shell code that runs it."""
        for language, body in _BLOCK.findall(self._text):
            if language == "console":
                for step in _typed(body):
                    yield step, f"{{ {step.command}\n}} 2>&1\necho '{_SEAM}'"
            elif name := _FILE.match(body):
                yield None, f"cat > {name[1]} <<'END OF FILE'\n{body}END OF FILE"


def _kill(shell: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(shell.pid, signal.SIGKILL)


def _answer(out: IO[str]) -> list[str] | None:
    """Return the lines that a step has printed, or None if the output ends before the step."""
    lines: list[str] = []
    for line in out:
        text, is_end, _ = line.rpartition(f"{_SEAM}\n")
        if not is_end:
            lines.append(line.rstrip())
            continue
        return [*lines, text] if text else lines
    return None


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _of_the_checkout(folder: Path) -> Mapping[str, str]:
    """Return an environment in which scripts provide ``sluice`` and ``python``, because the package may not be
    installed."""
    programs = folder / "bin"
    programs.mkdir()
    for name, words in (("sluice", " -m sluice.ops.cli.main"), ("python", "")):
        program = programs / name
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
        program.chmod(0o755)
    outer = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    return outer | {"PYTHONPATH": str(ROOT), "PATH": f"{programs}:{outer['PATH']}"}


def said(line: str) -> str:
    """Return the content of a line without the parts that differ each time."""
    return " ".join(_CHANGING.sub("…", line).split())


def renewed(text: str, folder: Path) -> str:
    """Return the document with the answers that its commands print now."""
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
