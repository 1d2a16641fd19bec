"""Problems of a ledger and the doctor's findings. Most problems are produced on a real ledger."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from sluice.actors.settings.settings import process_found, read_settings
from sluice.ledger.database.connection import Ledger
from sluice.ledger.reads import server_health
from sluice.ledger.recovery.invariants import GATES_COUNT, Breach
from sluice.ledger.schema import migrate
from sluice.ops.console.server import ListenAddress
from sluice.ops.observe.doctor import ledger as judge
from sluice.ops.observe.doctor.finding import Finding, FindingLevel
from sluice.ops.observe.doctor.run_probes import Examination
from sluice.ops.operations.context import OperatorContext
from tests.homes import started_ledger
from tests.ops.typist import NO_LEDGER, Typist

HERE = "here"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a server. These tests may change its settings."""
    with started_ledger(tmp_path_factory.mktemp("patient")) as url:
        yield url


@pytest.fixture
def ledger(url: str) -> Iterator[Ledger]:
    with closing(Ledger(url, connections=1)) as opened:
        yield opened


@contextmanager
def _set(url: str, do: str, undo: str, *, reload: bool = False) -> Iterator[None]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (do, undo):
            connection.execute(statement.encode())
            if reload:
                _reload(url)
            if statement is do:
                yield


def _reload(url: str) -> None:
    """Reload the configuration, and wait until new connections have it."""
    with psycopg.connect(url, autocommit=True) as connection:
        before = connection.execute("SELECT pg_conf_load_time()").fetchone()
        connection.execute("SELECT pg_reload_conf()")
    while before == _loaded_at(url):
        pass


def _loaded_at(url: str) -> object:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT pg_conf_load_time()").fetchone()


def _said(findings: list[Finding], level: FindingLevel) -> str:
    return "\n".join(f"{each.what} {each.advice}" for each in findings if each.level is level)


def _examined(url: str, *, ahead: timedelta = timedelta()) -> list[Finding]:
    settings = read_settings({"SLUICE_LEDGER_URL": url}, folder=Path("/"))
    with OperatorContext(settings) as desk:
        examination = Examination(
            desk, listen=ListenAddress("127.0.0.1", 8484), clock=lambda: datetime.now(UTC) + ahead
        )
        return list(examination.findings(process_found()))


def test_a_healthy_ledger_causes_no_bad_finding(url: str) -> None:
    findings = [each for each in _examined(url) if each.about == judge.ABOUT]
    assert "fsync is off" in _said(findings, FindingLevel.WARN), (
        "the PostgreSQL of the tests runs without fsync"
    )
    assert not _said(findings, FindingLevel.BAD)
    told = _said(findings, FindingLevel.OK)
    assert f"Its schema is at {migrate.REVISION}" in told
    assert "is consistent" in told
    assert "Its clock and the local clock agree" in told


def test_a_server_without_autovacuum_is_reported(url: str) -> None:
    with _set(url, "ALTER SYSTEM SET autovacuum = off", "ALTER SYSTEM RESET autovacuum", reload=True):
        assert "Autovacuum is off" in _said(_examined(url), FindingLevel.BAD)
    assert "Autovacuum" not in _said(_examined(url), FindingLevel.BAD)


def test_an_older_schema_is_reported(url: str) -> None:
    version = "UPDATE sluice_version SET version_num = '{}'"
    with _set(url, version.format("0000"), version.format(migrate.REVISION)):
        said = _said(_examined(url), FindingLevel.BAD)
    assert f"Its schema is at 0000; this version of Sluice works with {migrate.REVISION}." in said
    assert "sluice db upgrade" in said


def test_tables_without_autovacuum_or_with_many_dead_rows_are_reported(url: str) -> None:
    leave, take = (
        f"ALTER TABLE app_runtime {way}"
        for way in ("SET (autovacuum_enabled=false)", "RESET (autovacuum_enabled)")
    )
    with _set(url, leave, take):
        assert "Autovacuum skips the table app_runtime" in _said(_examined(url), FindingLevel.BAD)
    with _set(url, leave, take), psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO app_runtime (app, mean_s) SELECT n, 1 FROM generate_series(1, 60000) n"
        )
        connection.execute("DELETE FROM app_runtime")
        connection.execute("SELECT pg_stat_force_next_flush()")
        grown = next(each for each in _tables(url) if each.name == "app_runtime")
        assert grown.is_overgrown
        [finding] = judge.tables([replace(grown, left_out=False)], where=HERE)
        assert "The table app_runtime has about 60,000 dead rows and 0 living rows." in finding.what
        connection.execute("VACUUM app_runtime")


def _tables(url: str) -> list[server_health.TableSize]:
    with closing(Ledger(url, connections=1)) as ledger:
        return list(ledger.transact(server_health.tables))


def test_transactions_that_are_open_for_long_are_reported(url: str, ledger: Ledger) -> None:
    with psycopg.connect(url, application_name="a report") as idle:
        idle.execute("SELECT 1")
        found = ledger.transact(lambda tx: server_health.long_transactions(tx, long_s=0))
        named = [each for each in found if each.name == "a report"]
        [finding] = judge.transactions(named, datetime.now(UTC), where=HERE)
        assert finding.level is FindingLevel.WARN
        assert f"pg_terminate_backend({idle.info.backend_pid})" in finding.advice
        assert "a report" in finding.what
        assert "idle in transaction" in finding.what
    assert not ledger.transact(server_health.long_transactions), "five minutes have not passed"


def test_a_server_with_few_connections_left_causes_a_warning(url: str, ledger: Ledger) -> None:
    with ExitStack() as stack:
        # Connections of other tests may still be closing, so they are counted each time.
        while (crowded := ledger.transact(server_health.server)).places - crowded.taken >= judge.PLACES_MIN:
            stack.enter_context(psycopg.connect(url))
        assert "the next worker may get none" in _said(
            list(judge.server(crowded, where=HERE)), FindingLevel.WARN
        )


def test_old_servers_and_standbys_are_reported(ledger: Ledger) -> None:
    """The values are made up, because the tests have neither."""
    server = ledger.transact(server_health.server)
    old = replace(server, version=130011, release="13.11", standby=True)
    said = _said(list(judge.server(old, where=HERE)), FindingLevel.BAD)
    assert "It is Postgres 13.11, and has to be 14 or newer." in said
    assert "accepts no writes" in said


@pytest.mark.parametrize(("minutes", "side"), [(3, "behind"), (-3, "ahead of")])
def test_clocks_that_differ_cause_a_warning(url: str, minutes: int, side: str) -> None:
    said = _said(_examined(url, ahead=timedelta(minutes=minutes)), FindingLevel.WARN)
    assert side in said
    assert "NTP" in said


def test_violated_invariants_of_the_ledger_are_reported(url: str, ledger: Ledger) -> None:
    insert = "INSERT INTO need (child, gate, parent, condition) VALUES (901, 0, 902, 'succeeded')"
    with _set(url, insert, "DELETE FROM need"):
        said = _said(_examined(url), FindingLevel.BAD)
        assert (
            "dependencies and requests name jobs that exist. It is broken by 1 job: #901, which does not exist"
            in said
        )
    with psycopg.connect(url) as connection:
        connection.execute("LOCK TABLE job IN ACCESS EXCLUSIVE MODE")
        assert server_health.contradictions(ledger, within_s=0.1) is None, "that took too long"
    (repairable,) = judge.agreement([Breach(GATES_COUNT, 751, "jobs", ["b/1", "b/2"])], where=HERE)
    assert repairable.what.endswith("It is broken by 751 jobs: b/1, b/2 …")
    assert "`sluice db repair`" in (repairable.advice or "")
    [finding] = judge.agreement(None, where=HERE)
    assert "sluice db check" in finding.what


def test_a_ledger_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    said = Typist(tmp_path, SLUICE_LEDGER_URL=NO_LEDGER).types("doctor")
    assert said.code == 3
    assert "The ledger does not answer" in said.out
    assert "SLUICE_LEDGER_URL at a running database" in said.out


def test_the_doctor_does_not_create_an_embedded_ledger(tmp_path: Path) -> None:
    said = Typist(tmp_path).types("doctor")
    assert said.code == 0
    assert "An embedded ledger is created under .sluice" in said.out
    assert not (tmp_path / ".sluice").exists()


def test_examining_an_empty_database_creates_no_schema(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE DATABASE bare")
        try:
            bare = psycopg.conninfo.make_conninfo(url, dbname="bare")
            told = _said([judge.schema(migrate.schema(bare), where=HERE)], FindingLevel.OK)
            assert "It contains no ledger yet" in told
            assert migrate.revision(bare) is None
        finally:
            connection.execute("DROP DATABASE bare WITH (FORCE)")
