"""What compressed files hold, in pieces of a bounded size, and never more than was allowed.

``tarfile`` does not do it: its decompressors know no limit of memory, nor of what comes out.
"""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, Protocol

from sluice.jobs.programs.patience import Patience
from sluice.jobs.programs.rules import Rules
from sluice.jobs.programs.source import Form
from sluice.jobs.programs.unfit import Unfit

CHUNK_BYTES: Final = 64 * 1024
TOO_EARLY: Final = "it ends too early"
#: An .xz may ask for as much memory as this, which is what ``xz -9`` needs.
LZMA_BYTES_MAX: Final = 80 * 1024 * 1024
#: Small things may be as compressible as they like: a tar file of one line is nearly all padding.
RATIO_FREE_BYTES: Final = 4 * 1024 * 1024


class Decompressor(Protocol):
    """As ``bz2`` and ``lzma`` have it."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class Gunzip:
    """A gzip stream, checked to its last byte."""

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
    """The bytes of a tar file, whatever it is compressed with. Read in order, once, to the end."""

    def __init__(self, file: BinaryIO, form: Form, rules: Rules, patience: Patience) -> None:
        self._file = file
        self._rules = rules
        self._patience = patience
        #: What a tar file adds to its members: their headers, and what fills up their last blocks.
        self._bytes_max = rules.unpacked_bytes_max + 4096 * (rules.files_max + 16)
        self._taken = self._given = 0
        self._rest = b""
        make = _MAKERS.get(form)
        self._pieces = iter(self._take, b"") if make is None else self._decompressed(make)

    def read(self, size: int) -> bytes:
        """Exactly so many bytes; fewer only at the end of the file."""
        pieces, missing = [], size
        while missing and (piece := self._rest or self._next()):
            self._rest = piece[missing:]
            pieces.append(piece[:missing])
            missing -= len(pieces[-1])
        return b"".join(pieces)

    def close(self) -> None:
        """Release the decompressor. The suspended generator refers to this stream and this stream to it, so up to
        80 MiB would otherwise stay until Python's next full collection."""
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
        """Several streams may follow each other, with zeros between them that fill up blocks. Millions may be empty."""
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
    """The next piece; Unfit where the data are not what they should be, or want too much memory."""
    try:
        return decompressor.decompress(data, CHUNK_BYTES)
    except (OSError, EOFError, ValueError, MemoryError, zlib.error, lzma.LZMAError):
        raise Unfit("it is damaged, or not compressed as its name says") from None


def check_ratio(given: int, taken: int, rules: Rules) -> None:
    if given > RATIO_FREE_BYTES and given > rules.ratio_max * taken:
        raise Unfit(f"it unpacks to more than {rules.ratio_max} times its size")
