"""Examples of the pages can be read, and the definitions among them can be loaded. Pages with commands have tests of
their own, which execute them."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.sources.yaml_format import read_yaml
from tests.style.sources import ROOT

_BLOCK = re.compile(r"^ *```(python|yaml|json)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_DEFINES = re.compile(r"^@app|^@saga|schedule\(", re.MULTILINE)
#: Pages with examples that import other examples of the page. The tests of these pages load them together.
_SEVERAL_MODULES = {"long-running.md", "mixed-keys.md", "results.md", "tutorial.md"}


class Example(NamedTuple):
    page: str
    kind: str
    text: str


def _examples() -> Iterator[Example]:
    for page in sorted((ROOT / "docs").glob("*.md")):
        for found in _BLOCK.finditer(page.read_text()):
            yield Example(page.name, found[1], dedent(found[2]))


EXAMPLES = list(_examples())


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.page)
def test_an_example_of_a_page_is_valid(example: Example, tmp_path: Path) -> None:
    if example.kind == "json":
        is_part = example.text.startswith('"')
        json.loads(f"{{{example.text}}}" if is_part else example.text)
    elif example.kind == "yaml":
        read_yaml(example.text)
    else:
        ast.parse(example.text)
        if _DEFINES.search(example.text) and example.page not in _SEVERAL_MODULES:
            module = tmp_path / f"example_{EXAMPLES.index(example)}.py"
            module.write_text(example.text)
            assert load([str(module)]) or "schedule(" in example.text


def test_the_pages_have_examples_of_each_kind() -> None:
    kinds = [example.kind for example in EXAMPLES]
    assert min(kinds.count(kind) for kind in ("python", "yaml", "json")) > 5
