"""Helpers for tests of the sandbox: its levels, marks for tests that need it, and a check of an outcome."""

import os
import sys
from collections.abc import Callable

import pytest

from sluice.jobs.model.job import Ending, Outcome
from sluice.jobs.policy.sandbox_settings import Fence, SandboxLevel
from sluice.jobs.runners.process.sandbox import Sandbox
from tests.jobs.runners.runner_bench import Bench

OFF, LIMITS, WALLED = (Fence(level=level) for level in SandboxLevel)

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has these")
_LACK = Sandbox(WALLED).lack()
walled = pytest.mark.skipif(
    _LACK is not None and os.environ.get("CI") != "true", reason=f"bubblewrap is not to be had: {_LACK}"
)


At = Callable[[Fence], Bench]


def out(outcome: Outcome) -> str:
    assert outcome.ending is Ending.DONE, (outcome.error, outcome.stderr)
    return outcome.output
