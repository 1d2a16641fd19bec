"""Pages that are made from the code are as the code would make them, and the site has every page."""

from pathlib import Path

import yaml

from sluice.ops.tools.states_page import page

ROOT = Path(__file__).parents[2]


def test_the_page_of_states_is_made_from_the_table() -> None:
    assert (ROOT / "docs" / "states.md").read_text() == page(), (
        "python -m sluice.ops.tools.states_page > docs/states.md"
    )


def test_every_page_is_in_the_order_of_the_site() -> None:
    """The loader ignores the tags of mkdocs, which name Python's functions."""
    sections = yaml.load((ROOT / "ops/setup/mkdocs.yml").read_text(), yaml.BaseLoader)["nav"]
    listed = [page for section in sections for pages in section.values() for page in pages]
    assert sorted(listed) == sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
