"""The definitions on the pages about tables can be loaded unchanged."""

import re
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.fields.partition_options import PARTITION_WORDS
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.partitions import Reach, read_span
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "partitions.md").read_text()


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a page in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def test_the_declared_tables_on_the_pages_can_be_loaded() -> None:
    *tables, planned = blocks("partitions.md", "yaml")
    texts = [*tables, *blocks("backfill.md", "yaml")]
    assert len(texts) == 5
    write("acme/__init__.py", "")
    for module in ("grouped", "weekly"):
        write(f"acme/{module}.py", "def fill(job): ...")
    found = load([write("apps.yaml", "\n".join(texts))])
    sizes = {name: app.partitioning and app.partitioning.step_size for name, app in found.items()}
    assert sizes == {"staging": 1, "grouped": 7, "joined": 1, "weekly": 1, "served": 1, "rolling": 1}
    assert [*found.schedules] == ["nightly"]
    assert found.confs == {"features": {"offline": "joined", "online": "served"}}
    assert sorted(found.externals) == ["customers", "events", "payments"]
    (payments,) = found.app("rolling").partitioning.dependencies
    calendar = Calendar("day")
    inputs = {
        day: payments.needed_for(read_span(calendar, day), calendar) for day in ("2024-04-03", "2024-03-31")
    }
    assert inputs == {"2024-04-03": Reach(*read_span(calendar, "2024-04-01..2024-04-03")), "2024-03-31": None}
    write(
        "acme/queries.py", "def plan(document): return {'visits': {'partition': 'day', 'bash_cmd': 'true'}}"
    )
    assert [*load([write("queries.yaml", planned)])] == ["visits"]


@pytest.mark.parametrize("page", ["partitions.md", "backfill.md"])
def test_the_decorated_tables_on_the_pages_can_be_loaded(page: str) -> None:
    (text,) = blocks(page, "python")
    found = load([write("tables.py", text)])
    assert {name: app.partitioning and app.partitioning.step_size for name, app in found.items()} == {
        "staging": 1,
        "grouped": 7,
    }
    assert sorted(found.externals) == ["events"]


def test_the_slices_on_the_page_can_be_loaded() -> None:
    (text,) = blocks("slices.md", "python")
    found = load([write("stores.py", text)])
    assert sorted(found) == ["ranking", "revenue", "sales"]
    assert sorted(found.externals) == ["tills[store=graz]", "tills[store=oslo]"]
    assert [app.name for app, _ in found.readers_of("sales[store=oslo]")] == ["ranking", "ranking", "revenue"]


def test_the_tables_of_jobs_with_keys_on_the_page_can_be_loaded() -> None:
    takings, prices = blocks("daily-tables.md", "python")
    found = load([write("takings.py", takings), write("prices.py", prices)])
    assert sorted(found) == ["clean", "price", "trend"]
    assert found.makes_days_of("takings") is found["clean"]
    assert sorted(found.externals) == ["price", "rates", "takings"]


def test_the_partitions_page_names_every_option() -> None:
    assert [word for word in PARTITION_WORDS if f"`{word}`" not in PAGE] == []
