"""An index that is created concurrently, by the migration that CONTRIBUTING.md shows."""

import re
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from sluice.ledger.schema import migrate
from sluice.ledger.schema.preview import preview
from tests.jobs.runners.runner_bench import eventually
from tests.ledger.generations import database, ledger_at

ROOT = Path(__file__).parents[2]
_MIGRATION = re.compile(r"^ *```python\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('job_by_app')"
_DROP_WAITS = """
SELECT 1 FROM pg_stat_activity
WHERE datname = current_database() AND query LIKE '%DROP INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'
"""


@pytest.fixture(autouse=True)
def migration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the migration of the page to the migrations of the code."""
    section = (ROOT / "CONTRIBUTING.md").read_text().partition("## Add a migration")[2]
    (shown,) = _MIGRATION.findall(section)
    scripts = tmp_path / "migrations"
    (scripts / "versions").mkdir(parents=True)
    for path in migrate.SCRIPTS.rglob("*.py"):
        (scripts / path.relative_to(migrate.SCRIPTS)).write_text(path.read_text())
    (scripts / "versions/0002_index.py").write_text(textwrap.dedent(shown))
    monkeypatch.setattr(migrate, "SCRIPTS", scripts)
    monkeypatch.setattr(migrate, "REVISION", "0002")


def test_an_index_whose_first_attempt_fails_is_valid_in_the_end(embedded_url: str) -> None:
    """An open transaction lets the first attempt fail and leave an invalid index, which the second one drops."""
    with ledger_at(embedded_url, "0001") as url, psycopg.connect(url, autocommit=True) as reader:
        with ThreadPoolExecutor() as threads, psycopg.connect(url) as writer:
            writer.execute("LOCK TABLE job IN ROW EXCLUSIVE MODE")
            upgrade = threads.submit(migrate.upgrade, url)
            eventually(lambda: reader.execute(_DROP_WAITS).fetchone() is not None)
            assert reader.execute(_IS_VALID).fetchone() == (False,)
            writer.rollback()
            assert upgrade.result() == "0002"
        assert reader.execute(_IS_VALID).fetchone() == (True,)


def test_a_new_ledger_has_the_index(embedded_url: str) -> None:
    with database(embedded_url) as url:
        assert migrate.upgrade(url) == "0002"
        with psycopg.connect(url) as connection:
            assert connection.execute(_IS_VALID).fetchone() == (True,)


def test_the_preview_shows_the_index_outside_of_a_transaction(embedded_url: str) -> None:
    with ledger_at(embedded_url, "0001") as url:
        (found,) = preview(url)
    assert (found.revision, found.title) == ("0002", "Find jobs by app.")
    assert "COMMIT;\n\nDROP INDEX CONCURRENTLY IF EXISTS job_by_app" in found.sql
    assert "CREATE INDEX CONCURRENTLY job_by_app ON job (app)" in found.sql
