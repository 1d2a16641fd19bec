"""The ready-made manager ``LocalProcess`` passes the conformance tests."""

from pathlib import Path

import pytest

from sluice.jobs.managers.conformance import Conformance
from sluice.jobs.model.job import RunContext
from tests.jobs.managers.commands import BRIEF, ENDLESS, FAILING, Command, doing, leaders_under


class TestLocalProcess(Conformance):
    manager = Command

    @pytest.fixture(autouse=True)
    def _folder(self, runs: Path) -> None:
        self._runs = runs

    def brief_job(self) -> RunContext:
        return doing(BRIEF)

    def endless_job(self) -> RunContext:
        return doing(ENDLESS)

    def failing_job(self) -> RunContext:
        return doing(FAILING)

    def started(self, job: RunContext) -> int:
        return len(leaders_under(self._runs / job.token))
