"""Attacks as values, and the way in which each is made."""

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from tests.attacks.installation import Installation
from tests.attacks.probe import Probe, Starts

Act = Callable[[Installation], str]


class Attack(Struct, frozen=True):
    """One attack. ``act`` returns the line with which it was refused, or raises AssertionError if it succeeds."""

    name: str
    act: Act


class Course(Struct, frozen=True):
    """Result of an attack, and the start times of other jobs meanwhile."""

    refusal: str
    starts: Starts
    peak_mb: int


ATTACKS: list[Attack] = []


def attack(name: str) -> Callable[[Act], Act]:
    """Register an attack under the name that the table shows."""

    def register(act: Act) -> Act:
        ATTACKS.append(Attack(name, act))
        return act

    return register


def make(place: Installation, each: Attack) -> Course:
    """Make an attack. AssertionError if it succeeds, if a sound job does not, or if a log has a traceback."""
    sizes = place.log_sizes()
    forget_peak(place)
    with Probe(place) as probe:
        refusal = each.act(place)
    course = Course(refusal, probe.starts(), peak_mb(place))
    faults = place.faults_since(sizes)
    assert not faults, "\n".join(faults)
    return course


def forget_peak(place: Installation) -> None:
    """Reset the kernel's counter of the peak memory of the planner's processes."""
    for pid in _planners(place):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def peak_mb(place: Installation) -> int:
    """Return the peak memory of the largest of the planner's processes."""
    found = [Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2] for pid in _planners(place)]
    return max(int(text.split()[0]) // 1024 for text in found)


def _planners(place: Installation) -> list[int]:
    """Return the first process of control and its child processes, which are all of one session."""
    session = place.parts["control"].pid
    found = []
    for each in Path("/proc").iterdir():
        if each.name.isdigit() and _session(each) == session:
            found.append(int(each.name))
    return found


def _session(process: Path) -> int:
    """Return the session of a process, or 0 if it has ended."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    except (FileNotFoundError, ProcessLookupError):
        return 0
