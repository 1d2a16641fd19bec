"""Programs that must be installed for some tests."""

import os
import shutil

import pytest


def need(program: str) -> None:
    """Skip the test if the program is missing. With ``CI=true`` the test fails instead."""
    if shutil.which(program):
        return
    line = f"{program} is missing; install the package {program}"
    if os.environ.get("CI") == "true":
        pytest.fail(f"{line}: CI=true requires it", pytrace=False)
    pytest.skip(line)
