"""All that a run prints on one stream, on disk for as long as it runs."""

import tempfile
from io import BytesIO
from typing import IO, cast

#: More than this is not kept, however much is printed.
SPOOLED_BYTES_MAX = 1024**3
#: As much stays in memory: most runs print less, and need no file.
_IN_MEMORY_BYTES = 64 * 1024


class Spool:
    """``trouble`` says why it has not all of it; a disk that is full is no reason to end what runs."""

    def __init__(self) -> None:
        self.trouble: str | None = None
        self._file: IO[bytes] = BytesIO()
        self._size = 0

    def add(self, chunk: bytes) -> None:
        room = SPOOLED_BYTES_MAX - self._size
        if self.trouble is not None:
            return
        if len(chunk) > room:
            self.trouble = f"it is longer than {SPOOLED_BYTES_MAX} bytes, and the rest of it is gone"
        try:
            self._take(chunk[:room])
        except OSError as error:
            self.trouble = f"it could not be written down while it ran: {error.strerror or error}"

    def read(self) -> IO[bytes]:
        """What there is of it, from the beginning."""
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        self._file.close()

    def _take(self, chunk: bytes) -> None:
        if self._size <= _IN_MEMORY_BYTES < self._size + len(chunk):
            self._go_to_disk()
        self._write(chunk)

    def _go_to_disk(self) -> None:
        """No buffer stands between: one that the disk does not take would fail whatever is done with the file next."""
        in_memory = cast(BytesIO, self._file).getvalue()
        self._file = cast(IO[bytes], tempfile.TemporaryFile(buffering=0))  # noqa: SIM115  # Closed by ``close``.
        self._size = 0
        self._write(in_memory)

    def _write(self, content: bytes) -> None:
        """All of it: an unbuffered file takes as much as it has room for."""
        left = memoryview(content)
        while left:
            written = self._file.write(left)
            self._size += written
            left = left[written:]
