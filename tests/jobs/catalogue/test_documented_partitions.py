"""The definitions on docs/partitions.md can be loaded unchanged."""

import re
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.fields.partition_options import PARTITION_WORDS
from sluice.jobs.keys.calendar import Calendar
from sluice.jobs.keys.partitions import Reach, read_span
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")

PAGE = (Path(__file__).parents[3] / "docs" / "partitions.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_on_the_partitions_page_can_be_loaded() -> None:
    texts = [text for language, text in BLOCKS if language == "yaml"]
    assert len(texts) == 7
    (decorated,) = (text for language, text in BLOCKS if language == "python")
    write("acme/__init__.py", "")
    for module in ("grouped", "weekly"):
        write(f"acme/{module}.py", "def fill(job): ...")
    text = "\n".join(texts)
    found = load([write("apps.yaml", text), write("archived.py", decorated)])
    sizes = {name: app.partitioning and app.partitioning.step_size for name, app in found.items()}
    steps = {"staging": 1, "grouped": 7, "joined": 1, "weekly": 1, "rolling": 1, "trend": 7, "archived": 90}
    assert sizes == {**steps, "sales": 7, "ranking": 1, "revenue": 1, "clean": None, "price": None}
    assert [*found.schedules] == ["nightly"]
    tables = ["customers", "events", "payments", "price", "rates", "takings"]
    slices = ["tills[store=graz]", "tills[store=oslo]"]
    assert sorted(found.externals) == [*tables, *slices]
    assert [app.name for app, _ in found.readers_of("sales[store=oslo]")] == ["ranking", "ranking", "revenue"]
    assert found.makes_days_of("takings") is found["clean"]
    (payments,) = found.app("rolling").partitioning.dependencies
    calendar = Calendar("day")
    inputs = {
        day: payments.needed_for(read_span(calendar, day), calendar) for day in ("2024-04-03", "2024-03-31")
    }
    assert inputs == {"2024-04-03": Reach(*read_span(calendar, "2024-04-01..2024-04-03")), "2024-03-31": None}


def test_the_partitions_page_names_every_option() -> None:
    assert [word for word in PARTITION_WORDS if f"`{word}`" not in PAGE] == []
