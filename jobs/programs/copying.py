"""The copy of a version that a run has for itself."""

from pathlib import Path

from sluice.jobs.programs.patience import Patience
from sluice.jobs.programs.unfit import one_line
from sluice.jobs.programs.watched import run_watched


def copy_version(version: Path, folder: Path, patience: Patience, *, lock: int) -> None:
    """OSError where the disk does not take it. It is a copy, and no tree of links, for two reasons.

    Programs write to where they are, and a worker that is root is held back by no mode: what one run changes
    would be what the next one runs, whatever digest was asked for. And ``cp`` makes it, not this process: a
    descriptor that is open for writing here may be inherited by a child that another thread just starts, and the
    kernel runs no file that anybody can write to.
    """
    answer = run_watched(("cp", "-RPp", "--", str(version), str(folder)), patience, holds=(lock,))
    if answer.code != 0:
        said = answer.stderr.partition("\n")[0].rpartition(": ")[2]
        raise OSError(answer.code, one_line(said) or f"cp ended with {answer.code}")
