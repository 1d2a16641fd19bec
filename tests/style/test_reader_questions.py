"""Common questions in docs/index.md: each is answered by the section to which its link leads.

``test_pages`` checks that the index also links to each of these pages from the table of its subject. So a reader who
starts at the index needs two clicks without the table of questions: one to the page, and one to the heading.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.style.documents import QUESTIONS

DOCS = Path(__file__).parents[2] / "docs"
#: Fewest words of an answering section, outside of code: 15, because a shorter one only refers to another page.
WORDS_MIN = 15
_ROW = re.compile(r"^\| ([^|]+\?) \| ([^|]+) \| \[([^]]+)\]\(([\w-]+\.md)#([\w-]+)\) \|$", re.MULTILINE)
_HEADING = re.compile(r"^(#{2,3}) (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


class Row(NamedTuple):
    question: str
    answer: str
    heading: str
    page: str
    anchor: str


def rows(index: str) -> list[Row]:
    _, _, section = index.partition(f"\n## {QUESTIONS}\n")
    return [Row(*found) for found in _ROW.findall(section.partition("\n## ")[0])]


def faults(row: Row, pages: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with a row. ``pages`` are the texts of the pages by name."""
    section = _section(pages.get(row.page, ""), row.heading)
    if section is None:
        yield f"{row.page} has no heading {row.heading}"
        return
    if row.anchor != _anchor(row.heading):
        yield f"#{row.anchor} is not the anchor of {row.heading}"
    if len(re.findall(r"[A-Za-z]{2,}", _BLOCK.sub("", section))) < WORDS_MIN:
        yield f"{row.heading} has less than {WORDS_MIN} words"
    parts = re.findall(r"`([^`]+)`", row.answer)
    if not parts:
        yield f"the answer to {row.question} names no code"
    for part in parts:
        if part not in section:
            yield f"{row.heading} does not have {part}"


def _section(page: str, heading: str) -> str | None:
    """Return the text below a heading of level 2 or 3, up to the next heading of this level or a higher one."""
    code = _BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page)
    lines, kept = page.splitlines(), code.splitlines()
    for start, line in enumerate(kept):
        found = _HEADING.fullmatch(line)
        if found and found[2] == heading:
            ends = re.compile(rf"#{{1,{len(found[1])}}} ")
            after = (at for at in range(start + 1, len(kept)) if ends.match(kept[at]))
            return "\n".join(lines[start + 1 : next(after, len(kept))])
    return None


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.casefold()).replace(" ", "-")


def test_each_question_leads_to_a_section_with_its_answer() -> None:
    asked = rows((DOCS / "index.md").read_text())
    assert 20 <= len({row.question for row in asked}) == len(asked)
    pages = {path.name: path.read_text() for path in DOCS.glob("*.md")}
    assert [fault for row in asked for fault in faults(row, pages)] == []


def test_each_row_of_the_table_is_read() -> None:
    section = (DOCS / "index.md").read_text().partition(f"\n## {QUESTIONS}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert len(rows((DOCS / "index.md").read_text())) == len(lines) - len(["heading", "rule"])


TEXT = f"""# Logs

## Show the output

```sh
# a comment
sluice logs fetch
```

{"word " * 20}

## Brief

`logs`
"""


@pytest.mark.parametrize(
    ("answer", "link", "expected"),
    [
        ("`sluice logs`", "[Show the output](output.md#show-the-output)", []),
        ("`cat`", "[Show the output](output.md#show-the-output)", ["Show the output does not have cat"]),
        ("a command", "[Show the output](output.md#show-the-output)", ["the answer to How? names no code"]),
        ("`logs`", "[Show the output](output.md#output)", ["#output is not the anchor of Show the output"]),
        ("`logs`", "[Output](output.md#output)", ["output.md has no heading Output"]),
        ("`logs`", "[a comment](output.md#a-comment)", ["output.md has no heading a comment"]),
        ("`logs`", "[Logs](output.md#logs)", ["output.md has no heading Logs"]),
        ("`logs`", "[Show the output](logs.md#show-the-output)", ["logs.md has no heading Show the output"]),
        ("`logs`", "[Brief](output.md#brief)", ["Brief has less than 15 words"]),
    ],
)
def test_a_row_that_does_not_lead_to_its_answer_is_found(answer: str, link: str, expected: list[str]) -> None:
    [row] = rows(
        f"# Index\n\n## {QUESTIONS}\n\n| question | answer | read |\n|---|---|---|\n| How? | {answer} | {link} |\n"
    )
    assert list(faults(row, {"output.md": TEXT})) == expected
