"""The store of programs of one machine."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from jobs.programs.patience import Stop
from jobs.programs.rules import Rules
from jobs.programs.unfit import Unfit


class ProgramStore:
    """Programs by the digest of what they came as, shared by all threads and processes that name the same folder."""

    def __init__(self, folder: Path, rules: Rules | None = None) -> None:
        self._folder = folder
        self._rules = rules or Rules()

    @contextmanager
    def program(
        self, program: str, source: str, sha256: str | None = None, *, stop: Stop, say: Callable[[str], None]
    ) -> Iterator[Path]:
        """The program in a folder of this run's own, called as the program is and removed at the end.

        It holds an executable ``run.sh``, is a copy, and may be written to. Raises Unfit, and Stopped where
        ``stop`` was set meanwhile; ``say`` hears a line for each thing worth knowing.
        """
        raise Unfit("nothing can be fetched yet")
        yield self._folder
