"""What the doctor says of the sandbox: that of this machine, as a worker here would have it."""

from pathlib import Path
from typing import Any

from tests.ops.typist import Typist


def _finding(desk: Typist, **settings: str) -> dict[str, Any]:
    told = desk.types("doctor", "--json", **settings).document["findings"]
    (found,) = (each for each in told if each["about"] == "sandbox")
    return dict(found)


def test_limits_are_what_there_is_unless_somebody_asks_for_more(desk: Typist) -> None:
    found = _finding(desk)
    assert (found["level"], found["what"].partition(":")[0]) == ("ok", "limits")


def test_without_limits_the_doctor_warns(desk: Typist) -> None:
    assert _finding(desk, SLUICE_SANDBOX="off")["level"] == "warn"


def test_what_is_asked_for_is_tried(desk: Typist) -> None:
    found = _finding(desk, SLUICE_SANDBOX="bubblewrap", SLUICE_SANDBOX_NETWORK="on")
    if found["level"] == "ok":
        assert found["what"] == "bubblewrap: processes of jobs run in it, with network."
    else:
        assert "cannot" in found["what"]


def test_what_cannot_be_had_is_bad(desk: Typist, tmp_path: Path) -> None:
    """By a worker that finds no program at all."""
    found = _finding(desk, SLUICE_SANDBOX="bubblewrap", PATH=str(tmp_path))
    assert found["level"] == "bad"
    assert "the program bwrap is not installed" in found["what"]
