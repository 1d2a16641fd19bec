"""The examples on docs/schedules.md can be loaded unchanged."""

import re
from pathlib import Path

import pytest

from sluice.jobs.catalogue import load
from tests.jobs.catalogue.sources import write

PAGE = (Path(__file__).parents[3] / "docs" / "schedules.md").read_text()
BLOCKS = dict(re.findall(r"^```(yaml|python)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("kind", "ids"), [("yaml", ["nightly", "tidy-up"]), ("python", ["nightly"])])
def test_the_examples_on_the_schedules_page_can_be_loaded(kind: str, ids: list[str]) -> None:
    suffix = {"yaml": "yaml", "python": "py"}[kind]
    assert [*load([write(f"pipeline.{suffix}", BLOCKS[kind])]).schedules] == ids
