"""``python -m sluice.ops.tools.reference``: write the pages that are made from the code."""

from collections.abc import Callable, Mapping
from pathlib import Path

from sluice.ops.tools import states_page
from sluice.ops.tools.reference import (
    api_page,
    cli_page,
    compare_page,
    definitions_page,
    http_page,
    settings_page,
)

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "api.md": api_page.page,
    "cli.md": cli_page.page,
    "compare.md": compare_page.page,
    "configuration.md": settings_page.page,
    "definitions.md": definitions_page.page,
    "http.md": http_page.page,
    "states.md": states_page.page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
