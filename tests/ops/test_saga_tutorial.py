"""docs/tutorial-saga.md, typed from its first line to its last.

A reader types more slowly than a saga takes. So the test waits after each submission and each event.
"""

import re
from pathlib import Path

from tests.ops.transcripts import Document
from tests.ops.typist import ROOT

#: Seconds. The loops wait for ``sluice up``. If it fails, the test must not wait indefinitely.
TIMEOUT_S = 240
_CHANGE = re.compile(
    r"^\$ sluice (?P<act>submit|resume|retry) order (?P<key>\w+).*\n(?:(?!\$ |```).*\n)*", re.MULTILINE
)


def test_the_commands_of_the_tutorial_print_the_shown_answers(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial-saga.md").read_text()
    text, waits = _CHANGE.subn(_and_wait, text)
    assert waits == 8
    steps = Document(text, tmp_path, timeout_s=TIMEOUT_S).check()
    assert len(steps) - waits > 20


def _and_wait(change: re.Match[str]) -> str:
    """Return a command and its answer, and a command that waits until the saga waits or has ended."""
    states = "succeeded|failed" if change["act"] == "resume" else "suspended"
    look = f"sluice show order {change['key']} | head -1 | grep --quiet -E '{states}'"
    return f"{change[0]}$ until {look}; do sleep 0.2; done\n"
