"""What a worker has for runs: where it gets programs from, where it puts what the ledger has no room for, and what it
puts around the processes that it starts."""

from typing import NamedTuple

from jobs.blobs import BlobStore
from jobs.programs import ProgramStore
from jobs.runners.sandbox import Sandbox


class Stores(NamedTuple):
    programs: ProgramStore
    blobs: BlobStore
    sandbox: Sandbox
