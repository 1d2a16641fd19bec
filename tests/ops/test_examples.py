"""The examples of each command's ``--help``: all of them parse, and all that end by themselves run as described."""

import json
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sluice.ops.cli.command import Command, CommandGroup
from sluice.ops.cli.commands import COMMANDS
from sluice.ops.cli.examples import EXAMPLES, examples
from sluice.ops.cli.main import main
from sluice.ops.cli.parser import parse
from sluice.ops.starter import files
from tests.ops.conftest import desk_in
from tests.ops.orders import ORDERS, approved
from tests.ops.typist import ROOT, Typist

#: Examples that do not run here. They run until they or other processes are stopped, take minutes, need a server that
#: is not available here, or are refused while a worker runs.
NOT_HERE = {
    "up": {1, 2, 3},
    "console": {1, 2},
    "bench": {1, 2},
    "db upgrade": {2},
    "broker take": {1, 2},
    "db restored": {1, 2},
    "db announce": {1, 2},
    "autoscale": {1, 2},
    "worker": {1, 2, 3},
}
#: Examples that exit with an error, because the saga is undone and so does not succeed.
FAILING = {("saga retry-undo", 2)}
TABLES = {
    "daily": {"partition": "day", "bash_cmd": "true", "table_dependencies": [{"table": "events"}]},
    "upload": {
        "job_id": "{date}",
        "identifiers": {"date": "date"},
        "bash_cmd": "test {date} -lt 20261120",
        "archive": "manual",
    },
    "schedules": {
        "nightly": {"app": "report", "cron": "30 2 * * *", "key": "{due:%Y%m%d}"},
        "hourly": {"app": "report", "cron": "0 * * * *", "key": "{due:%Y%m%d}"},
    },
}
LATER = ["--start-after", "2099-01-01"]


def _ways() -> Iterator[str]:
    for entry in COMMANDS:
        if isinstance(entry, CommandGroup):
            yield from (f"{entry.word} {each.word}" for each in entry.commands)
        else:
            yield entry.word


def _typed(line: str) -> list[str]:
    return shlex.split(line, comments=True)[1:]


LINES = [(way, number, line) for way in EXAMPLES for number, line in enumerate(examples(way), start=1)]


def test_every_command_has_two_or_three_examples() -> None:
    assert {"", *_ways()} == EXAMPLES.keys()
    assert {len(examples(way)) for way in EXAMPLES} <= {2, 3}


@pytest.mark.parametrize(("way", "number", "line"), LINES, ids=[line for _, _, line in LINES])
def test_an_example_parses(way: str, number: int, line: str) -> None:
    words = _typed(line)
    assert line.startswith("sluice ")
    assert " ".join(words).find(way) >= 0, "it is an example of its own command"
    action, _ = parse(words)
    if way:
        assert action is _named(way).load()


def _named(way: str) -> Command:
    first, _, second = way.partition(" ")
    found = {entry.word: entry for entry in COMMANDS}[first]
    if isinstance(found, CommandGroup):
        return {each.word: each for each in found.commands}[second]
    return found


def test_help_ends_with_the_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["ls", "--help"], ["apps", "show", "--help"]):
        with pytest.raises(SystemExit):
            main(words)
        shown = capsys.readouterr().out
        told = examples(" ".join(words[:-1]))
        assert told
        assert shown.endswith("examples:\n" + "".join(f"  {line}\n" for line in told))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typist]:
    """Yield a folder with everything that the examples refer to, while a process works on it."""
    with desk_in(tmp_path_factory.mktemp("shop")) as typist:
        typist.write("orders.py", ORDERS)
        typist.write("pipeline.py", files()["pipeline.py"])
        typist.write("tables.json", json.dumps(TABLES))
        apps = [
            "sluice.jobs.examples.shops",
            str(ROOT / "jobs/examples/trips.py"),
            str(ROOT / "jobs/examples/stau"),
        ]
        typist.environment |= {"SLUICE_APPS": ",".join([*apps, "orders.py", "tables.json"])}
        typist.environment |= {"SLUICE_TICK": "200ms", "SLUICE_CONSOLE_TOKEN": "a token of an operator"}
        _prepare(typist)
        with typist.starts("up"):
            yield typist


def _prepare(typist: Typist) -> None:
    for n in "5678":
        typist.write(f"{n}.locked", "")
    typist.asks("submit", "order", *"345678")
    typist.asks("partitions", "land", "events", "2026-11-01..2026-11-07")
    typist.asks("submit", "daily", "--start", "2026-11-01", "--end", "2026-11-07", "--id", "week")
    typist.asks("submit", "trip", "ann_LX318")
    typist.asks("submit", "report", "2026-11-20", "--id", "nightly-20")
    typist.asks("submit", "upload", "2026-11-19", "2026-11-20", "--id", "uploads")
    typist.asks("up", "--drain")
    for n in "5678":
        approved(typist, n, '{"ok": false}')
    typist.asks("up", "--drain")
    for day in ("21", "22", "23"):
        typist.asks("submit", "report", f"2026-11-{day}", "--id", f"nightly-{day}", *LATER)
    for n in "56":
        (typist.folder / f"{n}.locked").unlink()


RUNNING = [each for each in LINES if each[1] not in NOT_HERE.get(each[0], ())]


def test_the_examples_run(shop: Typist, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They run in the order of the table, because some depend on the results of earlier ones."""
    for name, value in shop.environment.items():
        monkeypatch.setenv(name, value)
    failed = []
    for way, number, line in RUNNING:
        monkeypatch.chdir(tmp_path if _typed(line)[0] == "init" else shop.folder)
        if main(_typed(line)) != ((way, number) in FAILING):
            failed.append(line)
        if way == "init":
            shutil.rmtree(tmp_path / "shop", ignore_errors=True)
    assert not failed
