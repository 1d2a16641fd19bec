"""docs/deploy.md, docs/operate.md and docs/runbook.md: their commands are valid and have the described results."""

import re
import shlex
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from inspect import getsource
from itertools import takewhile
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sluice.actors.executor import transactions
from sluice.actors.groomer import ticks
from sluice.broker.connect import connect
from sluice.broker.messages import Execute, JobRound, Plan, Tick
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.states import State
from sluice.ledger.database.connection import Ledger
from sluice.ledger.recovery import leases
from sluice.ops.cli.main import main
from sluice.ops.observe.overview import alarms
from tests.ledger.generations import database
from tests.ledger.role_ledgers import SERVERS, Roled
from tests.ops.backups import commands, typed
from tests.ops.composed import CHOICES
from tests.ops.deployed import settings, understood
from tests.ops.site import WORDS, Site
from tests.ops.typist import ROOT
from tests.servers import rabbitmq_url
from tests.world import LEASE_S, World

PAGES = ("deploy.md", "operate.md", "runbook.md")
#: Words of a shell that end a command.
_ENDS = {"|", "&&", ";", "do"}
#: Placeholders of the pages, and words in place of them.
PLACES = {"APP": "fetch", "KEY": "1", "ID": "nightly", "NAME": "etl", "TEXT": "by hand"}
_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:sluice|python -m) [^`]+)`")
_HEADING = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def _page(name: str) -> str:
    return (ROOT / "docs" / name).read_text()


def _typed(page: str) -> Iterator[list[str]]:
    """Yield the commands of Sluice, with words in place of the placeholders."""
    lines = [line for block in _BLOCK.findall(page) for line in block.splitlines()]
    for line in [*lines, *_INLINE.findall(page)]:
        words = list(takewhile(lambda word: word not in _ENDS, shlex.split(line)))
        if words and words[0] in ("sluice", "python"):
            yield [PLACES.get(word, word) for word in words]


def _anchors(page: str) -> set[str]:
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(page)}


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_of_a_page_are_valid(name: str) -> None:
    commands = list(_typed(_page(name)))
    assert len(commands) > 5
    for command in commands:
        understood(command)


@pytest.mark.parametrize("name", PAGES)
def test_the_settings_of_a_page_exist(name: str) -> None:
    named = set(re.findall(r"\bSLUICE_[A-Z_]+", _page(name))) - CHOICES
    assert {each.removesuffix("_FILE") for each in named} <= settings()


@pytest.mark.parametrize("name", PAGES)
def test_the_links_of_a_page_are_not_broken(name: str) -> None:
    for place, anchor in _LINK.findall(_page(name)):
        if "://" in place:
            continue
        target = (ROOT / "docs" / place) if place else ROOT / "docs" / name
        assert target.exists(), place
        assert not anchor or anchor in _anchors(target.read_text()), anchor


def test_every_alert_has_a_heading_in_the_runbook() -> None:
    names = set(re.findall(r'name="([a-z-]+)"', getsource(alarms)))
    assert names
    assert names <= _anchors(_page("runbook.md"))


@pytest.fixture
def restored(site: Site, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a ledger that was dumped and restored as the runbook describes."""
    site.define({"a": WORDS})
    site.world.submit("a", None, keys=["1", "2"])
    site.world.finish("a/2")
    given = conninfo_to_dict(site.world.url)
    other = make_conninfo("", **{**given, "dbname": "restored"})
    with psycopg.connect(site.world.url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE restored")
        try:
            for url, command in zip((site.world.url, other), commands(), strict=True):
                typed(command, tmp_path, url)
            yield other
        finally:
            connection.execute("DROP DATABASE restored WITH (FORCE)")


def test_a_restored_ledger_keeps_its_invariants_and_continues(
    restored: str, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = conninfo_to_dict(restored)
    url = f"postgresql://{address['user']}:{address['password']}@/restored?host={address['host']}&port={address['port']}"
    assert main(["--ledger", url, "db", "check"]) == 0
    with rabbitmq_url() as broker_url:
        monkeypatch.setenv("SLUICE_BROKER_URL", broker_url)
        assert main(["--ledger", url, "db", "restored"]) == 3, "the site's worker has a lease that stands"
        with psycopg.connect(restored) as connection:
            connection.execute("UPDATE worker SET lease_until = now()")
        assert main(["--ledger", url, "db", "restored"]) == 0
        with closing(connect(broker_url)) as broker:
            assert broker.depth("a") == 1
    assert site.world.state("a") is State.READY


@pytest.mark.parametrize("server", SERVERS)
def test_a_ledger_with_roles_is_restored_on_a_server_without_them(server: str, tmp_path: Path) -> None:
    """Each step runs under the role that the page names."""
    dump, restore = commands()
    with SERVERS[server](tmp_path / "postgres") as lost, database(lost.admin_url) as url:
        with World(lost.admin_url) as world:
            world.apps("a -> b")
            world.submit("b")
            world.finish("a")
        typed(dump, tmp_path, lost.url("owner"))
        lost.lose()
        typed(restore, tmp_path, url)
        assert main(["--ledger", url, "db", "check"]) == 0
        made = Roled(url, lost.prefix)
        assert main(["--ledger", made.url("reader"), "db", "check"]) == 0
        for role, code in (("control", 2), ("worker", 2), ("owner", 0)):
            assert main(["--ledger", made.url(role), "db", "restored"]) == code, role
        with made.connect("submitter") as connection:
            connection.execute("""SELECT sluice.submit('{"app": "a", "key": "2", "id": "theirs"}')""")
        with closing(Ledger(made.url("worker"), connections=1)) as ledger:
            assert _claims(ledger, world.catalogue, "b") > _above(ledger)
        with closing(Ledger(made.url("control"), connections=1, clock=_soon)) as ledger:
            assert Plan(submissions=("theirs",)) in ticks.tick(ledger, world.catalogue, Tick())


def _claims(ledger: Ledger, catalogue: Catalogue, app: str) -> int:
    """Return the number under which a new worker claims the only job of the app."""
    worker = uuid4()
    words: dict[str, Any] = {"host": "test", "pid": 1, "queues": [], "threads": 1, "lease_s": LEASE_S}
    ledger.transact(lambda tx: leases.join(tx, worker, **words))
    (job,) = ledger.transact(lambda tx: tx.column("SELECT id FROM job WHERE app = %(app)s", app=app))
    claimed, _ = transactions.claim(ledger, catalogue, Execute(app=app, jobs=(JobRound(job, 0),)), worker)
    return claimed[0].claim


def _above(ledger: Ledger) -> int:
    return int(ledger.transact(lambda tx: tx.column("SELECT max(id_floor) FROM restoration"))[0])


def _soon() -> datetime:
    return datetime.now(UTC) + timedelta(minutes=1)
