"""Resource limits for the processes of one run."""

from msgspec import Struct


class Allowance(Struct, frozen=True, kw_only=True):
    """Resource limits of one run. None keeps the limit of the worker.

    ``processes`` counts all processes that the run has at one time. Every other limit applies to each process by
    itself: the seconds of processor time, the address space, the longest file, the open files.
    """

    cpu_s: float | None = None
    memory_bytes: int | None = None
    file_size_bytes: int | None = None
    processes: int | None = None
    open_files: int | None = None

    def __bool__(self) -> bool:
        return self != Allowance()
