"""Output that ``sluice logs --follow`` shows: each line once, in order, however much is written between two looks."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.model.job import KEPT_BYTES
from sluice.jobs.runners.output import Excerpt
from sluice.ops.cli.commands.jobs.logs import added
from tests.ops.typist import Typist

WORDS = st.sampled_from(["", "x", "tick", "grüße 😀" * 3, "y" * 700, "… 12 bytes left out …"])


@given(st.lists(st.lists(WORDS, max_size=12), max_size=30))
def test_lines_that_were_written_between_two_looks_are_shown_once(looks: list[list[str]]) -> None:
    """The looks are close enough, so that nothing in between is left out."""
    excerpt, before, shown = Excerpt(), "", ""
    written = [
        f"{look} {place} {word}\n" for look, words in enumerate(looks) for place, word in enumerate(words)
    ]
    lines = iter(written)
    for words in looks:
        for _ in words:
            excerpt.add_text(next(lines))
        now = excerpt.text()
        shown += added(before, now)
        before = now
    assert shown == "".join(written)


@pytest.mark.parametrize("size", [3 * KEPT_BYTES, 10 * KEPT_BYTES])
def test_of_too_many_lines_the_end_is_shown_with_a_note(size: int) -> None:
    excerpt = Excerpt()
    excerpt.add_text("begun\n" + "a" * 2 * KEPT_BYTES + "\n")
    before = excerpt.text()
    excerpt.add_text("b" * size + "\nlast\n")
    new = added(before, excerpt.text())
    assert re.match(r"… \d+ bytes left out …\nb+\nlast\n$", new)
    assert len(new) <= KEPT_BYTES


def test_an_output_that_is_cut_at_its_beginning_is_followed() -> None:
    """So is that of a long-running service."""
    lines = [f"a status at {number}\n" for number in range(2_000)]
    texts = ["".join(lines[:count])[-KEPT_BYTES:] for count in (1_000, 1_005, 1_005, 1_100)]
    assert [added(before, now) for before, now in pairwise(texts)] == [
        "".join(lines[1_000:1_005]),
        "",
        "".join(lines[1_005:1_100]),
    ]


TALKS = """
import sys
from sluice import app

@app(job_id="{n}")
def talk(n):
    print("out")
    print("err", file=sys.stderr)

@app(job_id="{n}", isolate=True)
def apart(n):
    print("out")
    print("err", file=sys.stderr)
"""


@pytest.mark.parametrize("name", ["talk", "apart"])
@pytest.mark.parametrize("follow", [False, True])
def test_stderr_is_shown_once(desk: Typist, name: str, follow: bool) -> None:
    """The output of a function in a thread has both; of a process they are apart."""
    desk.write("talks.py", TALKS)
    assert desk.types("--apps", "talks.py", "run", name, "1").code == 0
    said = desk.types("--apps", "talks.py", "logs", name, "1", *(["--follow"] if follow else []))
    assert said.out.splitlines()[1:] == ["out", "err"]
