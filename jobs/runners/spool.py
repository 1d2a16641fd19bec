"""All that a run prints on one stream, on disk for as long as it runs."""

import tempfile
from typing import IO, cast

#: More than this is not kept, however much is printed.
SPOOLED_BYTES_MAX = 1024**3
#: As much stays in memory: most runs print less, and need no file.
_IN_MEMORY_BYTES = 64 * 1024


class Spool:
    """``trouble`` says why it has not all of it; a disk that is full is no reason to end what runs."""

    def __init__(self) -> None:
        self.trouble: str | None = None
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115  # Closed by ``close``.
        self._size = 0

    def add(self, chunk: bytes) -> None:
        room = SPOOLED_BYTES_MAX - self._size
        if self.trouble is not None:
            return
        if len(chunk) > room:
            self.trouble = f"it is longer than {SPOOLED_BYTES_MAX} bytes, and the rest of it is gone"
        try:
            self._size += self._file.write(chunk[:room])
        except OSError as error:
            self.trouble = f"it could not be written down while it ran: {error.strerror or error}"

    def read(self) -> IO[bytes]:
        """What there is of it, from the beginning."""
        self._file.seek(0)
        return cast(IO[bytes], self._file)

    def close(self) -> None:
        self._file.close()
