"""What a worker has for runs: where it gets programs from, where it puts what the ledger has no room for, and what it
puts around the processes that it starts."""

import math
from typing import NamedTuple

from sluice.jobs.blobs import BlobStore
from sluice.jobs.programs.store import ProgramStore
from sluice.jobs.runners.sandbox import Sandbox


class Stores(NamedTuple):
    """``grace_s_max`` limits how long a process may take to end after SIGTERM, if it is shorter than ``GRACE_S`` of
    ``jobs.runners.process``."""

    programs: ProgramStore
    blobs: BlobStore
    sandbox: Sandbox
    grace_s_max: float = math.inf
