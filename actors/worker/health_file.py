"""Health file of a worker (``SLUICE_HEALTH_PATH``): its heartbeat writes it, and probes of Kubernetes read it.

A probe costs two small processes (``find``, ``grep``), and neither Python nor a connection to the ledger. The file is
written in the thread of the heartbeat, every third of a lease, so it costs no job anything.

Invariants: the age of the file is the time since the last heartbeat that was answered, or that found the ledger
unreachable. A worker is not restarted because the ledger is away. A heartbeat that hangs, fails for another reason, or
does not run at all lets the file age. ``ready`` is true if the lease was valid then.

Only one thread writes it. A reader sees a whole file, because each one replaces the one before. A crash leaves a file
that ages; a worker that starts removes it. If a worker has several processes, all write the same file, so it shows that
some process is healthy.
"""

import logging
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import msgspec
from msgspec import Struct

_LOG = logging.getLogger("sluice.worker")


class WorkerHealth(Struct, frozen=True, kw_only=True):
    """Content of the file. ``renewed_at`` is when the last renewal of the lease was requested, by the worker's
    clock."""

    pid: int
    worker: UUID
    renewed_at: datetime | None
    lease_s: float
    ready: bool


class HealthFile:
    """Health file at this path. None writes no file."""

    def __init__(self, path: Path | None, worker: UUID, lease_s: float) -> None:
        self._path = path
        self._worker = worker
        self._lease_s = lease_s
        self._renewed_at: datetime | None = None
        self._failed = False

    def renewed(self) -> None:
        """Record that the lease was renewed. The caller has requested that a moment ago."""
        self._renewed_at = datetime.now(UTC)
        self.write(ready=True)

    def write(self, *, ready: bool) -> None:
        """Write the file. A failure is logged once, and changes nothing for the worker."""
        if self._path is None:
            return
        found = WorkerHealth(
            pid=os.getpid(),
            worker=self._worker,
            renewed_at=self._renewed_at,
            lease_s=self._lease_s,
            ready=ready,
        )
        new = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            new.write_bytes(msgspec.json.encode(found) + b"\n")
            new.replace(self._path)
        except OSError as error:
            if not self._failed:
                _LOG.error("the health file cannot be written, so probes will fail: %s", error)
            self._failed = True
        else:
            self._failed = False

    def remove(self) -> None:
        """Remove the file: no worker is at work here."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()
