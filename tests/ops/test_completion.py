"""Completion in the shells themselves."""

import os
import pty
import select
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from sluice.jobs.states import State
from sluice.ops.cli.command import Command
from sluice.ops.cli.commands.project.completion import script
from tests.ops.typist import Typist

SHELLS = ("bash", "zsh", "fish")
#: Command lines, each with all completions of its last word.
CASES = [
    ("sluice subm", ["submissions", "submit"]),
    ("sluice schedules ", ["ls", "next", "pause", "resume", "fire"]),
    ("sluice --apps pipeline.py schedules pa", ["pause"]),
    ("sluice apps pause --apps pipe", ["pipeline.py"]),
    ("sluice ls --state fa", [State.FAILED, State.FATAL]),
    ("sluice submit report --rerun ", ["job", "downstream"]),
    ("sluice graph --output somewhere --format s", ["svg"]),
    ("sluice graph -o pipe", ["pipeline.py"]),
    ("sluice init sh", ["shop"]),
    ("sluice ls --unc", ["--uncollected"]),
    ("sluice --js", ["--json"]),
    ("sluice --ledger ", []),
    ("sluice why fetch 2026-11-20_o", []),
    ("sluice completion ", [*SHELLS]),
]
COMMAND_LINES = [line for line, _ in CASES]
#: Text that a shell changes, or runs as a command, unless it is quoted.
ODD = 'it\'s "q" [x] {y} (z) $HOME $(touch a) `touch b` a:b; 7%% *'
SHOWN = ODD.replace("%%", "%")
ODD_COMMAND = f"""
def options(parser):
    parser.add_argument("place", help={ODD!r}, metavar="A:$(touch c)", choices=["here", "there"])
    parser.add_argument("--odd", help={ODD!r}, metavar="A:$(touch c)")
    parser.add_argument("--oddly", help="More")
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the completion scripts, another file and a folder."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pipeline.py").touch()
    (folder / "shop").mkdir()
    for shell in SHELLS:
        said = Typist(folder).types("completion", shell)
        assert said.code == 0, said.err
        (folder / f"sluice.{shell}").write_text(said.out)
    return folder


@pytest.mark.parametrize(("line", "expected"), CASES, ids=COMMAND_LINES)
@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_shell_completes_the_last_word(shop: Path, shell: str, line: str, expected: list[str]) -> None:
    assert sorted(word for word, _ in _completions(shop, shell, line)) == sorted(expected)


@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        ("sluice schedu\tfi\tnightly", "schedules fire nightly"),
        ("sluice apps pause --apps pipe\tfetch", "apps pause --apps pipeline.py fetch"),
        ("sluice --apps=a.py ls --state succ\t--unc\t", "--apps a.py ls --state succeeded --uncollected"),
        ("sluice graph report --form\tsv\t", "graph report --format svg"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_at_a_terminal_completes_each_word(shop: Path, shell: str, typed: str, becomes: str) -> None:
    """The input has a Tab for each word and ends with Enter. zsh inserts ``=`` after an option, and bash a space."""
    program = "sluice() { echo GOT:${*//=/ }:; }\r"
    _at_terminal(shop, shell, [(program, ""), (f"{typed}\r", f"GOT:{becomes}:")])


@pytest.mark.parametrize("shell", SHELLS)
def test_help_texts_are_shown_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    (tmp_path / "odd_command.py").write_text(ODD_COMMAND)
    monkeypatch.syspath_prepend(tmp_path)
    commands = [Command("odd", SHOWN, "odd_command"), Command("other", "More", "odd_command")]
    (tmp_path / f"sluice.{shell}").write_text(script(shell, commands))
    if shell == "zsh":
        lines = [
            ("zstyle ':completion:*' format '<%d>'\r", ""),
            ("sluice o\t", f"odd    -- {SHOWN}"),
            ("\x15sluice odd --odd\t", f"--odd    -- {SHOWN}"),
            ("\x15sluice odd \t", "<place>"),
        ]
        _at_terminal(tmp_path, shell, lines)
    else:
        shown, more = ("", "") if shell == "bash" else (SHOWN, "More")
        assert _completions(tmp_path, shell, "sluice ") == [("odd", shown), ("other", more)]
        assert _completions(tmp_path, shell, "sluice odd --odd") == [("--odd", shown), ("--oddly", more)]
    assert not {"a", "b", "c"} & {each.name for each in tmp_path.iterdir()}


def _shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        missing = f"no {name}: install the package {name}"
        if os.environ.get("CI") == "true":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    return found


def _completions(folder: Path, shell: str, line: str) -> list[tuple[str, str]]:
    """Return the completions of the last word, each with its description. bash has no descriptions."""
    if shell == "bash":
        words = line.split(" ")
        ask = f"""
            source sluice.bash
            [[ $(complete -p sluice) =~ -F.([^ ]+) ]]
            COMP_WORDS=({" ".join(f"'{word}'" for word in words)}) COMP_CWORD={len(words) - 1}
            "${{BASH_REMATCH[1]}}"
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        command = [_shell("bash"), "-c", ask]
    else:
        command = [_shell("fish"), "--no-config", "-c", f"source sluice.fish; complete -C '{line}'"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert not done.stderr, done.stderr
    parts = [each.partition("\t") for each in done.stdout.splitlines()]
    return [(word.rstrip("/"), description) for word, _, description in parts if word]


def _at_terminal(folder: Path, shell: str, lines: Sequence[tuple[str, str]]) -> None:
    """Type lines at a terminal. Each must make its expected text appear before the next is typed."""
    commands = {
        "bash": [_shell("bash"), "--norc", "--noprofile", "-i"],
        "zsh": [_shell("zsh"), "-f", "-i"],
    }
    setup = "autoload -U compinit; compinit -D -u; " if shell == "zsh" else ""
    setup += f"eval \"$(cat sluice.{shell})\"; echo RE''ADY\r"
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        commands[shell],
        cwd=folder,
        env=os.environ | {"TERM": "dumb", "PS1": "$ "},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        try:
            for typed, awaited in ((setup, "READY"), *lines):
                os.write(ours, typed.encode())
                _await(ours, awaited)
        finally:
            process.kill()
            os.close(ours)


def _await(terminal: int, awaited: str) -> None:
    """Read from the terminal until the text appears."""
    seen, deadline = b"", time.monotonic() + 20
    while awaited.encode() not in seen:
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        assert ready, seen.decode(errors="replace")
        seen += os.read(terminal, 65536)
