"""Zip files, read strictly and in limited memory, by their directory. Each member's own header must agree with it."""

import stat
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, Final

from msgspec import Struct

from sluice.jobs.programs.archive.decompress import CHUNK_BYTES, TOO_EARLY, Gunzip, check_ratio, decompressed
from sluice.jobs.programs.archive.members import Members
from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.names import PATH_BYTES_MAX, parts_of, quoted
from sluice.jobs.programs.source import Rules

_END: Final = struct.Struct("<4s4H2LH")
_END_64_AT: Final = struct.Struct("<4sLQL")
_END_64: Final = struct.Struct("<4sQ2H2L4Q")
_ENTRY: Final = struct.Struct("<4s6H3L5H2L")
_LOCAL: Final = struct.Struct("<4s5H3L2H")
_ENCRYPTED: Final = 0x0001 | 0x0040 | 0x2000
_STORED, _DEFLATED = 0, 8
_FULL_16, _FULL_32 = 0xFFFF, 0xFFFFFFFF
_DAMAGED: Final = "it is damaged, or no zip file"


class _Directory(Struct, frozen=True):
    count: int
    size: int
    offset: int


class _Entry(Struct, frozen=True, kw_only=True):
    """Member, as the directory describes it."""

    raw: bytes
    mode: int
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int

    @property
    def shown(self) -> str:
        return quoted(self.raw.decode("utf-8", "replace"))


def read_zip(file: BinaryIO, members: Members, rules: Rules) -> None:
    """Add every member, after the whole directory was checked. Unfit at the first fault."""
    directory = _find_directory(file)
    _check(file, directory, rules)
    for entry in _entries(file, directory):
        _add(file, members, entry, directory, rules)


def _check(file: BinaryIO, directory: _Directory, rules: Rules) -> None:
    """Check the limits for all members before the first is read."""
    if directory.count > rules.files_max:
        raise Unfit(f"it has more than the {rules.files_max} files and folders that are allowed")
    room, given = directory.offset, 0
    for entry in _entries(file, directory):
        parts_of(entry.raw)
        room -= entry.packed
        given += entry.size
        if room < 0:
            raise Unfit("it is damaged: its members overlap")
        check_ratio(given, directory.offset, rules)  # Many small members may exceed it together.
    if given > rules.unpacked_bytes_max:
        raise Unfit(f"it unpacks to more than the {rules.unpacked_bytes_max} bytes that are allowed")


def _find_directory(file: BinaryIO) -> _Directory:
    """Find the directory by the record at the end of the file. The comment after it may itself resemble such a
    record.
    """
    size = file.seek(0, 2)
    start = max(0, size - _FULL_16 - _END.size)
    file.seek(start)
    tail = file.read()
    at = tail.rfind(b"PK\5\6")
    while at >= 0:
        words = tail[at : at + _END.size]
        if len(words) == _END.size and at + _END.size + _END.unpack(words)[7] == len(tail):
            return _directory(file, start + at, words)
        at = tail.rfind(b"PK\5\6", 0, at)
    raise Unfit(_DAMAGED)


def _directory(file: BinaryIO, end: int, words: bytes) -> _Directory:
    _, disk, first, here, count, size, offset, _ = _END.unpack(words)
    if _FULL_16 in {here, count} or _FULL_32 in {size, offset}:
        sign, _, end, _ = _unpack(file, _END_64_AT, end - _END_64_AT.size)
        if sign != b"PK\6\7":
            raise Unfit(_DAMAGED)
        sign, _, _, _, disk, first, here, count, size, offset = _unpack(file, _END_64, end)
        if sign != b"PK\6\6":
            raise Unfit(_DAMAGED)
    if (disk, first) != (0, 0) or here != count or offset + size != end:
        raise Unfit(_DAMAGED)
    return _Directory(count, size, offset)


def _entries(file: BinaryIO, directory: _Directory) -> Iterator[_Entry]:
    at = directory.offset
    for _ in range(directory.count):
        words = _unpack(file, _ENTRY, at)
        sign, _, _, flags, method, _, _, crc, packed, size = words[:10]
        name_size, extra_size, comment_size, disk, _, attributes, offset = words[10:]
        raw, extra = _exactly(file, name_size), _exactly(file, extra_size)
        if sign != b"PK\1\2" or disk:
            raise Unfit(_DAMAGED)
        size, packed, offset = _large(extra, size, packed, offset)
        yield _Entry(
            raw=raw,
            mode=attributes >> 16,
            flags=flags,
            method=method,
            crc=crc,
            packed=packed,
            size=size,
            offset=offset,
        )
        at += _ENTRY.size + name_size + extra_size + comment_size
    if at != directory.offset + directory.size:
        raise Unfit(_DAMAGED)


def _large(extra: bytes, *numbers: int) -> list[int]:
    """Return the numbers. Numbers too large for their fields are in an extra field, in this order."""
    missing = [number == _FULL_32 for number in numbers]
    if not any(missing):
        return list(numbers)
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<2H", extra)
        field, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == 1 and len(field) >= 8 * sum(missing):
            found = iter(struct.unpack_from(f"<{sum(missing)}Q", field))
            return [next(found) if gone else number for number, gone in zip(numbers, missing, strict=True)]
    raise Unfit(_DAMAGED)


def _add(file: BinaryIO, members: Members, entry: _Entry, directory: _Directory, rules: Rules) -> None:
    parts = parts_of(entry.raw)
    kind = stat.S_IFMT(entry.mode)
    if entry.flags & _ENCRYPTED:
        raise Unfit(f"the member {entry.shown} is encrypted")
    if entry.raw.endswith(b"/") or kind == stat.S_IFDIR:
        members.add_folder(parts)
        return
    if kind not in {0, stat.S_IFREG, stat.S_IFLNK}:
        raise Unfit(f"the member {entry.shown} is no file; only files, folders and links are accepted")
    content = _content(file, entry, directory, rules)
    if kind == stat.S_IFLNK:
        if entry.size > PATH_BYTES_MAX:
            raise Unfit(f"the link {entry.shown} leads to no usable name")
        members.add_symlink(parts, b"".join(content))
    else:
        members.add_file(parts, entry.mode, content)


def _content(file: BinaryIO, entry: _Entry, directory: _Directory, rules: Rules) -> Iterator[bytes]:
    """Yield the content of a member, and compare it with the size and check sum in the directory."""
    words = _unpack(file, _LOCAL, entry.offset)
    if words[0] != b"PK\3\4" or words[3] != entry.method or _exactly(file, words[9]) != entry.raw:
        raise Unfit(f"it is damaged: the member {entry.shown} is not where it should be")
    file.seek(words[10], 1)
    if file.tell() + entry.packed > directory.offset:
        raise Unfit(TOO_EARLY)
    if entry.method not in {_STORED, _DEFLATED}:
        raise Unfit(f"the member {entry.shown} has an unknown compression method ({entry.method})")
    size = crc = 0
    for piece in _inflated(file, entry) if entry.method == _DEFLATED else _packed(file, entry):
        size += len(piece)
        crc = zlib.crc32(piece, crc)
        check_ratio(size, entry.packed, rules)
        if size > entry.size:
            break
        yield piece
    if (size, crc) != (entry.size, entry.crc):
        raise Unfit(f"the member {entry.shown} is damaged")


def _packed(file: BinaryIO, entry: _Entry) -> Iterator[bytes]:
    left = entry.packed
    while left:
        chunk = file.read(min(left, CHUNK_BYTES))
        if not chunk:
            raise Unfit(TOO_EARLY)
        left -= len(chunk)
        yield chunk


def _inflated(file: BinaryIO, entry: _Entry) -> Iterator[bytes]:
    inflater = Gunzip(-zlib.MAX_WBITS)
    for chunk in _packed(file, entry):
        if inflater.eof:  # It would keep all further data in memory and copy them at each piece.
            raise Unfit(f"the member {entry.shown} is damaged")
        yield decompressed(inflater, chunk)
        while not inflater.eof and not inflater.needs_input:
            yield decompressed(inflater, b"")
    if not inflater.eof or inflater.unused_data:
        raise Unfit(f"the member {entry.shown} is damaged")


def _unpack(file: BinaryIO, form: struct.Struct, at: int) -> tuple[Any, ...]:
    try:
        file.seek(at)
    except (OSError, ValueError):  # It is negative, or beyond any file size.
        raise Unfit(_DAMAGED) from None
    return form.unpack(_exactly(file, form.size))


def _exactly(file: BinaryIO, size: int) -> bytes:
    read = file.read(size)
    if len(read) < size:
        raise Unfit(TOO_EARLY)
    return read
