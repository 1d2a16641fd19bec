"""The doctor's finding about the sandbox that a worker on this machine would have."""

from pathlib import Path
from typing import Any

from tests.ops.typist import Typist


def _finding(desk: Typist, **settings: str) -> dict[str, Any]:
    told = desk.types("doctor", "--json", **settings).document["findings"]
    (found,) = (each for each in told if each["about"] == "sandbox")
    return dict(found)


def test_by_default_the_sandbox_consists_of_limits(desk: Typist) -> None:
    found = _finding(desk)
    assert (found["level"], found["what"].partition(":")[0]) == ("ok", "limits")


def test_the_doctor_warns_if_the_sandbox_is_off(desk: Typist) -> None:
    assert _finding(desk, SLUICE_SANDBOX="off")["level"] == "warn"


def test_the_doctor_tries_out_the_configured_sandbox(desk: Typist) -> None:
    found = _finding(desk, SLUICE_SANDBOX="bubblewrap", SLUICE_SANDBOX_NETWORK="on")
    if found["level"] == "ok":
        assert found["what"] == "bubblewrap: processes of jobs run in it, with network."
    else:
        assert "cannot" in found["what"]


def test_a_sandbox_with_a_missing_program_is_bad(desk: Typist, tmp_path: Path) -> None:
    """The PATH of the worker contains no programs."""
    found = _finding(desk, SLUICE_SANDBOX="bubblewrap", PATH=str(tmp_path))
    assert found["level"] == "bad"
    assert "the program bwrap is not installed" in found["what"]
