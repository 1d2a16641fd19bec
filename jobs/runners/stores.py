"""Where a worker gets programs from, and where it puts what the ledger has no room for."""

from typing import NamedTuple

from jobs.blobs import BlobStore
from jobs.programs import ProgramStore


class Stores(NamedTuple):
    programs: ProgramStore
    blobs: BlobStore
