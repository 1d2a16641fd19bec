"""Programs that tests need of the machine."""

import os
import shutil

import pytest


def need(program: str) -> None:
    """Skips the test where the program is missing; under ``CI=true`` it fails instead."""
    if shutil.which(program):
        return
    line = f"{program} is missing; install the package {program}"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{line}: CI=true requires it", pytrace=False)
    pytest.skip(line)
