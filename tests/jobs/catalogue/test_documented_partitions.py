"""The definitions on docs/partitions.md can be loaded unchanged."""

import re
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.fields.partition_options import PARTITION_WORDS
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")

PAGE = (Path(__file__).parents[3] / "docs" / "partitions.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_examples_on_the_partitions_page_can_be_loaded() -> None:
    declared, weekly, scheduled = (text for language, text in BLOCKS if language == "yaml")
    (decorated,) = (text for language, text in BLOCKS if language == "python")
    write("acme/__init__.py", "")
    for module in ("grouped", "weekly"):
        write(f"acme/{module}.py", "def fill(job): ...")
    text = "\n".join([declared, weekly, scheduled])
    found = load([write("apps.yaml", text), write("archived.py", decorated)])
    sizes = {name: app.partitioning and app.partitioning.step_size for name, app in found.items()}
    assert sizes == {"staging": 1, "grouped": 7, "joined": 1, "weekly": 1, "archived": 90}
    assert [*found.schedules] == ["nightly"]
    assert sorted(found.externals) == ["customers", "events"]


def test_the_partitions_page_names_every_option() -> None:
    assert [word for word in PARTITION_WORDS if f"`{word}`" not in PAGE] == []
