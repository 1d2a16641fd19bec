"""Long-running services behave the same for every kind of key."""

from pathlib import Path
from typing import Any

from sluice.jobs.catalogue import load
from sluice.jobs.states import State
from tests.actors.long_running import Site

FAR = """
[far]
job_type = "{folder}/grid.py:Grid"
is_long_running = true
"""
BY_CHUNK = "chunk_size = 10"
BY_PARTITION = """
output_table = "clicks"
table_dependencies = [{ table = "topics" }]

[up]
output_table = "topics"
bash_cmd = "true"
"""


def _submit(site: Site, folder: Path, words: str, **request: Any) -> dict[str, str]:
    """Submit ``far`` with these options, and return the key of each app's only job."""
    source = folder / "keyed.toml"
    source.write_text(FAR.format(folder=folder) + words)
    site.world.catalogue = load([str(source)])
    site.world.submit("far", None, **request)
    return dict(site.world.ledger.transact(lambda tx: tx.rows("SELECT app, key FROM job")))


def _is_started_and_looked_at(site: Site, job: str) -> None:
    site.run(job)
    site.passes(5)
    assert site.world.state(job) is State.RUNNING
    assert (site.asked, site.field("worker", job)) == (["run", "check"], None)


def test_a_service_keyed_by_chunk_is_started_and_polled(site: Site, tmp_path: Path) -> None:
    keys = _submit(site, tmp_path, BY_CHUNK, work_ids=[1, 2, 3])
    _is_started_and_looked_at(site, f"far/{keys['far']}")


def test_a_service_keyed_by_partition_is_started_and_polled(site: Site, tmp_path: Path) -> None:
    keys = _submit(site, tmp_path, BY_PARTITION, start="2026-01-01", end="2026-01-01")
    site.world.finish(f"up/{keys['up']}")
    _is_started_and_looked_at(site, f"far/{keys['far']}")
