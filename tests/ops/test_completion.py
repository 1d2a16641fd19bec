"""Completion in the shells themselves, and the names that it looks up."""

import json
import os
import pty
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.states import State
from sluice.ops.cli.commands import COMMANDS
from sluice.ops.completion import names
from sluice.ops.completion.scripts import SHELLS, script
from sluice.ops.completion.tree import read_tree
from sluice.ops.starter import files
from tests.ops.typist import ROOT

SHOPS = "sluice.jobs.examples.shops"
#: Command lines, each with all completions of its last word.
CASES = [
    ("sluice subm", ["submissions", "submit"]),
    ("sluice schedules ", ["ls", "next", "pause", "resume", "fire"]),
    ("sluice run ", ["fetch", "report"]),
    (f"sluice --apps {SHOPS} show ", ["clean", "fetch", "publish", "report"]),
    (f"sluice --apps={SHOPS} show pu", ["publish"]),
    ("sluice why fetch 2026-11-20_o", []),
    ("sluice apps pause fetch re", ["report"]),
    ("sluice ls --state fa", [State.FAILED, State.FATAL]),
    ("sluice ls --app re", ["report"]),
    ("sluice submit report --rerun ", ["job", "downstream"]),
    ("sluice graph --output somewhere --format s", ["svg"]),
    ("sluice schedules fire ", ["nightly"]),
    ("sluice schedules pause nightly ", ["nightly"]),
    ("sluice ls --unc", ["--uncollected"]),
    ("sluice --js", ["--json"]),
    ("sluice --ledger ", []),
    ("sluice graph -o pipe", ["pipeline.py"]),
    ("sluice completion ", ["bash", "zsh", "fish"]),
    ("sluice nothing ", []),
]
COMMAND_LINES = [line for line, _ in CASES]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project. The completion scripts are in the folder that contains it."""
    folder = tmp_path_factory.mktemp("shop")
    for name, text in files().items():
        (folder / name).write_text(text)
    tree = read_tree(COMMANDS)
    for shell in SHELLS:
        (folder.parent / f"sluice.{shell}").write_text(script(shell, tree))
    return folder


def _shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        missing = f"no {name}: install the package {name}"
        if os.environ.get("CI") == "true":
            pytest.fail(missing, pytrace=False)
        pytest.skip(missing)
    return found


def _said(shop: Path, command: Sequence[str]) -> str:
    outer = {name: value for name, value in os.environ.items() if not name.startswith("SLUICE_")}
    done = subprocess.run(
        command, cwd=shop, env=outer, capture_output=True, text=True, check=False, timeout=60
    )
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize(("line", "expected"), CASES, ids=COMMAND_LINES)
def test_bash_completes_the_last_word(shop: Path, line: str, expected: list[str]) -> None:
    words = line.split(" ")
    ask = f"""
        compopt() {{ :; }}
        source ../sluice.bash
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)}) COMP_CWORD={len(words) - 1}
        _sluice
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    assert sorted(_said(shop, [_shell("bash"), "-c", ask]).split()) == sorted(expected)


@pytest.mark.parametrize(("line", "expected"), CASES, ids=COMMAND_LINES)
def test_fish_completes_the_last_word(shop: Path, line: str, expected: list[str]) -> None:
    ask = f"source ../sluice.fish; complete -C '{line}'"
    told = _said(shop, [_shell("fish"), "--no-config", "-c", ask]).splitlines()
    assert sorted(each.partition("\t")[0] for each in told) == sorted(expected)


@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        ("sluice schedu\tfi\tnig\t", "schedules fire nightly"),
        ("sluice --ap\tpipe\trun rep\t2026", "--apps pipeline.py run report 2026"),
        ("sluice ls --state succ\t--unc\t", "ls --state succeeded --uncollected"),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_a_shell_at_a_terminal_completes_each_word(shop: Path, shell: str, typed: str, becomes: str) -> None:
    """The input has a Tab for each word and ends with Enter."""
    commands = {
        "bash": [_shell("bash"), "--norc", "--noprofile", "-i"],
        "zsh": [_shell("zsh"), "-f", "-i"],
    }
    setup = "autoload -U compinit; compinit -D -u; " if shell == "zsh" else ""
    setup += f"source ../sluice.{shell}; sluice() {{ echo GOT:$*:; }}; echo RE''ADY"
    seen = _at_terminal(commands[shell], shop, [(setup, "READY"), (typed, f"GOT:{becomes}:")])
    assert f"GOT:{becomes}:" in seen


def _at_terminal(command: Sequence[str], folder: Path, lines: Sequence[tuple[str, str]]) -> str:
    """Type lines at a terminal and return its content. Each line is typed as soon as the expected text of the line
    before has appeared.
    """
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "dumb", "PS1": "$ "}
    with subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as shell:
        os.close(theirs)
        os.set_blocking(ours, False)
        seen = b""
        try:
            for typed, awaited in lines:
                os.write(ours, typed.encode() + b"\r")
                seen = _until(ours, seen, awaited.encode())
        finally:
            shell.kill()
            os.close(ours)
    return seen.decode(errors="replace")


def _until(terminal: int, seen: bytes, awaited: bytes) -> bytes:
    deadline = time.monotonic() + 20
    while awaited not in seen and time.monotonic() < deadline:
        try:
            seen += os.read(terminal, 65536)
        except BlockingIOError:
            time.sleep(0.01)
    return seen


def test_the_sourced_zsh_script_registers_its_function(shop: Path) -> None:
    ask = "autoload -U compinit; compinit -D -u; source ../sluice.zsh; print -r -- $_comps[sluice]"
    assert _said(shop, [_shell("zsh"), "-f", "-c", ask]).strip() == "_sluice"


def test_the_tree_has_the_commands_their_options_and_arguments() -> None:
    tree = {words.way: words for words in read_tree(COMMANDS)}
    assert [word for word, _ in tree[""].commands] == [entry.word for entry in COMMANDS]
    assert {"--where", "--state", "--json"} <= {flag for each in tree["ls"].options for flag in each.flags}
    assert tree["run"].arguments == ("@app", "")
    assert tree["run"].many
    assert tree["init"].arguments == ("@folder",)


DOCUMENT = {
    "fetch": {"job_id": "{x}", "bash_cmd": "true"},
    "report.v2": {"job_id": "{x}", "bash_cmd": "true"},
    "default_job_id": "{x}",
    "schedules": {"nightly": {"app": "fetch", "cron": "0 2 * * *", "key": "1"}},
}
YAML = """
# What there is.
fetch:
  job_id: "{x}"
  bash_cmd: "true"
report.v2: {job_id: "{x}", bash_cmd: "true"}
schedules:
  nightly:
    app: fetch
    cron: "0 2 * * *"
    key: "1"
"""
TOML = """
default_job_id = "{x}"
[fetch]
bash_cmd = "true"
["report.v2"]
bash_cmd = "true"
[schedules.nightly]
app = "fetch"
cron = "0 2 * * *"
key = "1"
"""


@pytest.mark.parametrize(
    "name", ["apps.json", "apps.yaml", "apps.toml", "pipeline.py", "folder", SHOPS, "trips"]
)
def test_names_read_from_the_text_equal_the_names_of_the_catalogue(tmp_path: Path, name: str) -> None:
    for text, suffix in ((json.dumps(DOCUMENT), "json"), (YAML, "yaml"), (TOML, "toml")):
        (tmp_path / f"apps.{suffix}").write_text(text)
    (tmp_path / "pipeline.py").write_text(files()["pipeline.py"])
    examples = {"folder": ROOT / "jobs/examples/stau", "trips": ROOT / "jobs/examples/trips.py"}
    source = name if name == SHOPS else str(examples.get(name, tmp_path / name))
    catalogue = load([source])
    assert names.names("apps", [source]) == sorted(catalogue)
    assert names.names("schedules", [source]) == sorted(catalogue.schedules)


@pytest.mark.parametrize("place", ["environment", ".env", "sluice.toml"])
def test_sources_are_read_from_all_places_of_settings(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLUICE_APPS", raising=False)
    source = shop / "pipeline.py"
    if place == "environment":
        monkeypatch.setenv("SLUICE_APPS", f"nowhere.json,{source}")
    else:
        line = f'apps = ["{source}"]' if place == "sluice.toml" else f"export SLUICE_APPS='{source}'"
        (tmp_path / place).write_text(f"{line}\n")
    assert names.names("apps", []) == ["fetch", "report"]


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "\x00", "def f(:"])
@pytest.mark.parametrize("suffix", ["json", "toml", "yaml", "py"])
def test_unreadable_sources_are_left_out(tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"odd.{suffix}"
    path.write_text(text)
    command = [
        sys.executable,
        "-I",
        "-S",
        names.__file__,
        "apps",
        str(path),
        "redis://there/0/key",
        "no.module",
    ]
    assert _said(tmp_path, command) == ""


def test_names_needs_nothing_but_the_standard_library() -> None:
    """The script runs without the folders of installed packages."""
    ask = f"""
import runpy, sys
sys.argv[1:] = ["apps", "{SHOPS}"]
runpy.run_path({names.__file__!r}, run_name="__main__")
print()
print([name for name in sys.modules if name.split(".")[0] in ("msgspec", "ops", "jobs")])
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["clean", "fetch", "publish", "report", "[]"]
