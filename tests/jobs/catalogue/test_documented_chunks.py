"""The definitions on docs/chunks.md can be loaded unchanged."""

import re
from pathlib import Path

import pytest

from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.catalogue.fields.chunk_options import CHUNK_WORDS
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")

PAGE = (Path(__file__).parents[3] / "docs" / "chunks.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def _check(catalogue: Catalogue, sizes: dict[str, int]) -> None:
    assert {name: app.chunking and app.chunking.size for name, app in catalogue.items()} == sizes


def test_the_examples_on_the_chunks_page_can_be_loaded() -> None:
    decorated, declared, configured = (text for language, text in BLOCKS if language != "console")
    write("acme/__init__.py", "")
    write("acme/ids.py", "def all_ids(**kwargs): ...\ndef with_new_orders(**kwargs): ...")
    write("acme/customers.py", "def refresh(**kwargs): ...")
    _check(load([write("apps.yaml", declared)]), {"customers": 1000, "orders": 50, "prices": 500})
    write("folder/orders.py", decorated)
    write("folder/report.py", configured)
    _check(load(["folder"]), {"customers": 1000, "orders": 2, "report": 100})


def test_the_chunks_page_names_every_option() -> None:
    assert [word for word in CHUNK_WORDS if f"`{word}`" not in PAGE] == []
