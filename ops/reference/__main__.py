"""``python -m sluice.ops.reference``: write the pages that are made from the code."""

from collections.abc import Callable, Mapping
from pathlib import Path

from sluice.ops import states_page
from sluice.ops.reference import cli_page, http_page, settings_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES: Mapping[str, Callable[[], str]] = {
    "cli.md": cli_page.page,
    "configuration.md": settings_page.page,
    "http.md": http_page.page,
    "states.md": states_page.page,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
