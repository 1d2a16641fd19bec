"""Programs as folders with a ``run.sh``, and an app that runs them from there."""

from pathlib import Path
from typing import Any

from sluice.jobs.app import App
from sluice.jobs.outcome import Outcome
from sluice.jobs.policy import Policy
from sluice.jobs.program import Program
from tests.jobs.runners.runner_bench import Bench, program_app


def script(folder: Path, text: str, *, name: str = "run.sh", head: str = "#!/bin/sh\n") -> str:
    """A bare program; its source."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(head + text)
    file.chmod(0o755)
    return f"file:{file}"


class Programs:
    """Runs a program of a few lines on a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def source(self, text: str, **words: Any) -> str:
        return script(self.bench.folder / "sources", text, **words)

    def run(
        self, text: str, input_: str | None = None, *, policy: Policy | None = None, **words: Any
    ) -> Outcome:
        return self.bench.run(self.bench.assign(self.app(text, input_, policy=policy), **words))

    def unstated(self, policy: Policy | None = None) -> App:
        """An app that leaves everything to the submission."""
        return program_app(Program(), policy)

    def app(self, text: str, input_: str | None = None, *, policy: Policy | None = None) -> App:
        return program_app(Program(source=self.source(text), input=input_), policy)
