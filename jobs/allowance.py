"""What the processes of one run may use."""

from msgspec import Struct


class Allowance(Struct, frozen=True, kw_only=True):
    """None leaves a thing as the worker has it. ``processes`` counts all that the run has at one time; every other is
    of each process by itself: the seconds of processor time, the address space, the longest file, the open files.
    """

    cpu_s: float | None = None
    memory_bytes: int | None = None
    file_size_bytes: int | None = None
    processes: int | None = None
    open_files: int | None = None

    def __bool__(self) -> bool:
        return self != Allowance()
