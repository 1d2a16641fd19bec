"""Complete output of a run on one stream, on disk while the run lasts."""

import tempfile
from io import BytesIO
from typing import IO, cast

#: Maximum number of bytes that are kept (1 GiB); more output is dropped.
SPOOLED_BYTES_MAX = 1024**3
#: Bytes that stay in memory: most runs print less, and need no file.
_IN_MEMORY_BYTES = 64 * 1024


class Spool:
    """Spooled output. ``trouble`` is the reason if it is incomplete: a full disk does not end the run."""

    def __init__(self) -> None:
        self.trouble: str | None = None
        self._file: IO[bytes] = BytesIO()
        self._size = 0

    def add(self, chunk: bytes) -> None:
        room = SPOOLED_BYTES_MAX - self._size
        if self.trouble is not None:
            return
        if len(chunk) > room:
            self.trouble = f"it is longer than {SPOOLED_BYTES_MAX} bytes, and the rest of it is lost"
        try:
            self._take(chunk[:room])
        except OSError as error:
            self.trouble = f"it could not be written while the job ran: {error.strerror or error}"

    def read(self) -> IO[bytes]:
        """Return the stored output, from the beginning."""
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        self._file.close()

    def _take(self, chunk: bytes) -> None:
        if self._size <= _IN_MEMORY_BYTES < self._size + len(chunk):
            self._go_to_disk()
        self._write(chunk)

    def _go_to_disk(self) -> None:
        """Move the output to a file without a buffer. A buffer that the disk refuses would fail the next file
        operation.
        """
        in_memory = cast(BytesIO, self._file).getvalue()
        self._file = cast(IO[bytes], tempfile.TemporaryFile(buffering=0))  # noqa: SIM115  # ``close`` closes it.
        self._size = 0
        self._write(in_memory)

    def _write(self, content: bytes) -> None:
        """Write the whole content. One call writes only as much as an unbuffered file has room for."""
        left = memoryview(content)
        while left:
            written = self._file.write(left)
            self._size += written
            left = left[written:]
