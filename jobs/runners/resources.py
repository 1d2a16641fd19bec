"""Resources of a worker for its runs: the source of programs, the store for large outputs, and the sandbox."""

import math
from typing import NamedTuple

from sluice.jobs.blobs import BlobStore
from sluice.jobs.programs.store import ProgramStore
from sluice.jobs.runners.function.started_hooks import StartedHooks
from sluice.jobs.runners.process.sandbox import Sandbox


class Stores(NamedTuple):
    """Resources for the runs of one worker. ``grace_s_max`` limits the seconds that a process may take to end after
    SIGTERM, if it is shorter than ``GRACE_S`` of ``jobs.runners.process.process``. ``hooks`` are the hooks of
    this process. If it is None, no hooks are used.
    """

    programs: ProgramStore
    blobs: BlobStore
    sandbox: Sandbox
    grace_s_max: float = math.inf
    hooks: StartedHooks | None = None
