"""Private copy of a version for one run."""

from pathlib import Path

from sluice.jobs.programs.patience import Patience
from sluice.jobs.programs.unfit import one_line
from sluice.jobs.programs.watched import run_watched


def copy_version(version: Path, folder: Path, patience: Patience, *, lock: int) -> None:
    """Copy the version into the folder. OSError if the disk fails. It is a copy, not a tree of links, for two reasons.

    Programs write to their own folder, and file modes do not restrict a worker that is root. A change by one run would
    be part of the next run, even with a ``sha256``. The copy is made by ``cp``, not by this process. A descriptor that
    is open for writing here may be inherited by a child that another thread is starting. The kernel does not execute a
    file that is open for writing.
    """
    answer = run_watched(("cp", "-RPp", "--", str(version), str(folder)), patience, holds=(lock,))
    if answer.code != 0:
        said = answer.stderr.partition("\n")[0].rpartition(": ")[2]
        raise OSError(answer.code, one_line(said) or f"cp ended with {answer.code}")
