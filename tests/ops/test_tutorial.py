"""The tutorial, typed from its first line to its last."""

from pathlib import Path

from sluice.ledger.embedded import start
from tests.ops.transcripts import Document, said
from tests.ops.typist import ROOT


def test_the_tutorials_commands_answer_what_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text()
    with start(tmp_path / ".sluice", durable=False):
        steps = list(Document(text, tmp_path).run())
    assert len(steps) > 30
    for step, told in steps:
        # A run tells its apps in the order in which they began; two that run at once may begin either way.
        order = sorted if step.command.startswith("sluice run") else list
        assert order(map(said, told)) == order(map(said, step.answer)), step.command
