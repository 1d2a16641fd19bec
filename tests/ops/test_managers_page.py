"""docs/managers.md: the program collects the results of the app, as the page shows it."""

from pathlib import Path

from sluice.ledger.embedded import start
from tests.ops.transcripts import Document, said
from tests.ops.typist import ROOT, Typist

TEXT = (ROOT / "docs" / "managers.md").read_text()


def test_the_program_prints_the_shown_answer(tmp_path: Path) -> None:
    worker = Typist(tmp_path)
    with start(tmp_path / ".sluice", durable=False):
        app = TEXT.partition("```python\n# pictures.py\n")[2].partition("```")[0]
        worker.write("pictures.py", app)
        with worker.starts("--apps", "pictures.py", "up"):
            [(step, told)] = Document(TEXT, tmp_path, timeout_s=120).run()
    assert sorted(map(said, told)) == sorted(map(said, step.answer)), (
        "in any order: rounds may begin in between"
    )
