"""Pages that are made from the code are as the code would make them."""

from pathlib import Path

from sluice.ops.tools.states_page import page

ROOT = Path(__file__).parents[2]


def test_the_page_of_states_is_made_from_the_table() -> None:
    assert (ROOT / "docs" / "states.md").read_text() == page(), (
        "python -m sluice.ops.tools.states_page > docs/states.md"
    )
