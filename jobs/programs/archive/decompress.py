"""Content of compressed files, in pieces of limited size and with a limit on the total.

``tarfile`` cannot be used because its decompressors have no limit on memory or on their output.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, Protocol

from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.fetch.download import Patience
from sluice.jobs.programs.source import Form, Rules

CHUNK_BYTES: Final = 64 * 1024
TOO_EARLY: Final = "it ends too early"
#: Maximum memory in bytes for an .xz: the amount that ``xz -9`` needs.
LZMA_BYTES_MAX: Final = 80 * 1024 * 1024
#: Bytes without a limit on the compression ratio: a tar file of one line is nearly all padding.
RATIO_FREE_BYTES: Final = 4 * 1024 * 1024


class Decompressor(Protocol):
    """Interface of the decompressors of ``bz2`` and ``lzma``."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class Gunzip:
    """Decompressor of a gzip stream, which also checks its check sum."""

    def __init__(self, wbits: int = 31) -> None:
        self._inner = zlib.decompressobj(wbits=wbits)
        self._kept = b""
        self._full = False

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def needs_input(self) -> bool:
        return not self._kept and not self._full

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        out = self._inner.decompress(self._kept + data, max_length)
        self._kept = self._inner.unconsumed_tail
        self._full = len(out) == max_length
        return out


_MAKERS: Final[dict[Form, Callable[[], Decompressor]]] = {
    "tar.gz": Gunzip,
    "tar.bz2": bz2.BZ2Decompressor,
    "tar.xz": lambda: lzma.LZMADecompressor(memlimit=LZMA_BYTES_MAX),
}


class Stream:
    """Bytes of a tar file, whatever its compression. They are read in order, once, to the end."""

    def __init__(self, file: BinaryIO, form: Form, rules: Rules, patience: Patience) -> None:
        self._file = file
        self._rules = rules
        self._patience = patience
        #: The addition allows for headers and for the padding of last blocks.
        self._bytes_max = rules.unpacked_bytes_max + 4096 * (rules.files_max + 16)
        self._taken = self._given = 0
        self._rest = b""
        make = _MAKERS.get(form)
        self._pieces = iter(self._take, b"") if make is None else self._decompressed(make)

    def read(self, size: int) -> bytes:
        """Return exactly ``size`` bytes; fewer only at the end of the file."""
        pieces, missing = [], size
        while missing and (piece := self._rest or self._next()):
            self._rest = piece[missing:]
            pieces.append(piece[:missing])
            missing -= len(pieces[-1])
        return b"".join(pieces)

    def close(self) -> None:
        """Release the decompressor. The suspended generator and this stream refer to each other, so up to 80 MiB would
        otherwise stay until Python's next full collection.
        """
        self._pieces = iter(())

    def _next(self) -> bytes:
        self._patience.check()
        piece = next(self._pieces, b"")
        self._given += len(piece)
        if self._given > self._bytes_max:
            raise Unfit(
                f"it unpacks to more than the {self._rules.unpacked_bytes_max} bytes that are allowed"
            )
        check_ratio(self._given, self._taken, self._rules)
        return piece

    def _take(self) -> bytes:
        chunk = self._file.read(CHUNK_BYTES)
        self._taken += len(chunk)
        return chunk

    def _decompressed(self, make: Callable[[], Decompressor]) -> Iterator[bytes]:
        """Yield the pieces. Several streams may follow each other, padded with zeros between them. Millions may be
        empty.
        """
        data = self._take()
        while data:
            self._patience.check()
            decompressor = make()
            while not decompressor.eof:
                if decompressor.needs_input and not data:
                    data = self._take()
                    if not data:
                        raise Unfit(TOO_EARLY)
                piece, data = decompressed(decompressor, data), b""
                if piece:
                    yield piece
            data = decompressor.unused_data.lstrip(b"\0")
            while not data and (chunk := self._take()):
                data = chunk.lstrip(b"\0")


def decompressed(decompressor: Decompressor, data: bytes) -> bytes:
    """Return the next piece. Unfit if the data are damaged or require too much memory."""
    try:
        return decompressor.decompress(data, CHUNK_BYTES)
    except (OSError, EOFError, ValueError, MemoryError, zlib.error, lzma.LZMAError):
        raise Unfit("it is damaged, or its compression does not match its name") from None


def check_ratio(given: int, taken: int, rules: Rules) -> None:
    if given > RATIO_FREE_BYTES and given > rules.ratio_max * taken:
        raise Unfit(f"it unpacks to more than {rules.ratio_max} times its size")
