"""The tutorial, typed from its first line to its last."""

from pathlib import Path

from sluice.ledger.embedded import start
from tests.ops.transcripts import Document, said
from tests.ops.typist import ROOT


def test_the_commands_of_the_tutorial_print_the_shown_answers(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text()
    with start(tmp_path / ".sluice", durable=False):
        steps = list(Document(text, tmp_path).run())
    assert len(steps) > 50
    for step, told in steps:
        # A run lists its apps in the order in which they began. Apps that run at once may begin in any order.
        order = sorted if step.command.startswith("sluice run") else list
        assert order(map(said, told)) == order(map(said, step.answer)), step.command
