"""Programs for tests: folders with a ``run.sh``, and apps that run them."""

from pathlib import Path
from typing import Any

from sluice.jobs.model.app import App
from sluice.jobs.model.job import Outcome
from sluice.jobs.model.program import Program
from sluice.jobs.policy.policy import Policy
from tests.jobs.runners.runner_bench import Bench, program_app


def script(folder: Path, text: str, *, name: str = "run.sh", head: str = "#!/bin/sh\n") -> str:
    """Write a bare script and return its source."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(head + text)
    file.chmod(0o755)
    return f"file:{file}"


class Programs:
    """Runner of short programs on a bench."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def source(self, text: str, **words: Any) -> str:
        return script(self.bench.folder / "sources", text, **words)

    def run(
        self, text: str, input_: str | None = None, *, policy: Policy | None = None, **words: Any
    ) -> Outcome:
        return self.bench.run(self.bench.assign(self.app(text, input_, policy=policy), **words))

    def unstated(self, policy: Policy | None = None) -> App:
        """Return an app that leaves every option to the submission."""
        return program_app(Program(), policy)

    def app(self, text: str, input_: str | None = None, *, policy: Policy | None = None) -> App:
        return program_app(Program(source=self.source(text), input=input_), policy)
