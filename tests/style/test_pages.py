"""Generated pages match the code, the site and the index have every page, and the glossary is sorted, and the prose is
plain."""

import re
from collections import Counter
from pathlib import Path

import yaml

from sluice.ops.tools.states_page import page
from tests.style import prose
from tests.style.documents import QUESTIONS
from tests.style.sources import Source

ROOT = Path(__file__).parents[2]


def test_the_page_of_states_is_made_from_the_table() -> None:
    assert (ROOT / "docs" / "states.md").read_text() == page(), (
        "python -m sluice.ops.tools.states_page > docs/states.md"
    )


def sections_of_the_site() -> dict[str, list[str]]:
    """Return the pages of each section. The loader ignores the tags of mkdocs, which name Python's functions."""
    sections = yaml.load((ROOT / "ops/setup/mkdocs.yml").read_text(), yaml.BaseLoader)["nav"]
    return {name: pages for section in sections for name, pages in section.items()}


def test_every_page_is_in_the_order_of_the_site() -> None:
    listed = [page for pages in sections_of_the_site().values() for page in pages]
    assert sorted(listed) == sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))


def test_the_index_links_to_each_page_in_the_section_of_the_site() -> None:
    _, *sections = (ROOT / "docs" / "index.md").read_text().split("\n## ")
    linked = {
        section.partition("\n")[0]: set(re.findall(r"\]\(([\w-]+\.md)\)", section)) for section in sections
    }
    del linked[QUESTIONS]
    site = sections_of_the_site()
    assert list(linked) == list(site)
    missing = {
        name: {page.removeprefix("docs/") for page in pages} - {"index.md"} - linked[name]
        for name, pages in site.items()
    }
    assert not any(missing.values()), missing


def test_the_glossary_has_each_term_once_in_one_sentence_with_a_link() -> None:
    lines = (ROOT / "docs" / "glossary.md").read_text().splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][1:]
    terms = [row[0].strip("`").casefold().replace("_", " ") for row in rows]
    assert terms == sorted(set(terms))
    for row in rows:
        assert "](" in row[1], row[0]
        assert row[1].endswith("."), row[0]
        assert ". " not in row[1], row[0]


def test_the_prose_of_all_pages_keeps_the_limits_of_the_patterns() -> None:
    """The limits are the ones for the prose in code: ``MATCHES_MAX`` in 1,000 words for each pattern."""
    pages = [*(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    found: Counter[str] = Counter()
    for path in pages:
        source = Source(f"docs/{path.name}", path.read_text())
        found += prose.counted(source)
    assert found["docs: words"] > 50_000
    assert prose.over_the_limit(found) == {}


def test_the_texts_of_the_console_keep_the_limits_of_the_patterns() -> None:
    scripts = [*(ROOT / "ops" / "console").rglob("*.js")]
    sources = [Source(f"console/{path.name}", path.read_text()) for path in scripts]
    found = sum(map(prose.counted, sources), Counter[str]())
    assert found["console: words"] > 2_000
    assert prose.over_the_limit(found) == {}


def test_the_prose_of_a_script_is_its_comments_and_messages() -> None:
    script = Source("a.js", 's("Four words of text", `and ${n} more of it`, "two words"); // no')
    assert [(piece.kind, piece.text) for piece in prose.pieces(script)] == [
        ("message", "Four words of text"),
        ("template", "and X more of it"),
        ("comment", "no"),
    ]
