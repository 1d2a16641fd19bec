"""Tar files, read strictly: unknown features are refused because another reader might interpret them differently."""

import tarfile
from collections.abc import Iterator
from typing import Final

from sluice.jobs.programs.archive.decompress import CHUNK_BYTES, TOO_EARLY, Stream
from sluice.jobs.programs.archive.members import Members
from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.names import parts_of, quoted

_BLOCK: Final = 512
_NOTES_BYTES_MAX: Final = 64 * 1024
_FILES: Final = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE)
_KINDS: Final = {
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a named pipe",
    tarfile.GNUTYPE_SPARSE: "a sparse file",
}


class _Notes:
    """Properties that headers give to the next member."""

    def __init__(self) -> None:
        self.name: bytes | None = None
        self.target: bytes | None = None
        self.size: int | None = None


def read_tar(stream: Stream, members: Members) -> None:
    """Add every member. Unfit at the first fault."""
    notes = _Notes()
    while (block := stream.read(_BLOCK)) != bytes(_BLOCK):
        if len(block) < _BLOCK:
            raise Unfit(TOO_EARLY)
        header = _header(block)
        if header.type in {tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE, tarfile.XGLTYPE}:
            _read_pax(_body(stream, header.size), notes, is_global=header.type == tarfile.XGLTYPE)
        elif header.type == tarfile.GNUTYPE_LONGNAME:
            notes.name = _body(stream, header.size).rstrip(b"\0")
        elif header.type == tarfile.GNUTYPE_LONGLINK:
            notes.target = _body(stream, header.size).rstrip(b"\0")
        else:
            _add(stream, members, header, notes)
            notes = _Notes()
    while stream.read(CHUNK_BYTES):  # To its end, so that the decompressor compares its check sums.
        pass


def _header(block: bytes) -> tarfile.TarInfo:
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        raise Unfit("it is damaged, or no tar file") from None
    if header.size < 0:
        raise Unfit("it is damaged: a member has a negative size")
    return header


def _add(stream: Stream, members: Members, header: tarfile.TarInfo, notes: _Notes) -> None:
    name = notes.name if notes.name is not None else _raw(header.name)
    parts = parts_of(name)
    if header.type in _FILES and name.endswith(b"/"):
        header.type = tarfile.DIRTYPE
    if header.type in _FILES:
        size = header.size if notes.size is None else notes.size
        members.add_file(parts, header.mode, _content(stream, size))
        _skip(stream, -size % _BLOCK)
    elif header.type == tarfile.DIRTYPE:
        members.add_folder(parts)
    elif header.type in {tarfile.SYMTYPE, tarfile.LNKTYPE}:
        target = notes.target if notes.target is not None else _raw(header.linkname)
        if header.type == tarfile.SYMTYPE:
            members.add_symlink(parts, target)
        else:
            members.add_hardlink(parts, parts_of(target))
    else:
        kind = _KINDS.get(header.type, "of an unknown kind")
        shown = quoted(name.decode("utf-8", "replace"))
        raise Unfit(f"the member {shown} is {kind}; only files, folders and links are accepted")


def _read_pax(records: bytes, notes: _Notes, *, is_global: bool) -> None:
    """Store the records that concern the next member. Unfit if a record is not allowed."""
    for key, value in _pax_records(records):
        if key in {b"path", b"linkpath", b"size"} and is_global:
            raise Unfit(f"a header gives all members the same {key.decode()}")
        if key.startswith(b"GNU.sparse"):
            raise Unfit("it has a sparse file; only files, folders and links are accepted")
        if key == b"path":
            notes.name = value
        elif key == b"linkpath":
            notes.target = value
        elif key == b"size":
            if not value.isdigit() or len(value) > 18:
                raise Unfit("it is damaged: a member has no size")
            notes.size = int(value)


def _pax_records(records: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of records of the form ``LENGTH KEY=VALUE`` and a newline. LENGTH counts the whole
    record.
    """
    while records:
        digits, _, _ = records.partition(b" ")
        length = int(digits) if digits.isdigit() and len(digits) < 8 else 0
        record, records = records[:length], records[length:]
        key, equals, value = record[len(digits) + 1 : -1].partition(b"=")
        if not record.endswith(b"\n") or not equals or len(record) != length:
            raise Unfit("it is damaged: a header cannot be read")
        yield key, value


def _body(stream: Stream, size: int) -> bytes:
    if size > _NOTES_BYTES_MAX:
        raise Unfit(f"a header is longer than {_NOTES_BYTES_MAX} bytes")
    body = b"".join(_content(stream, size))
    _skip(stream, -size % _BLOCK)
    return body


def _content(stream: Stream, size: int) -> Iterator[bytes]:
    while size:
        chunk = stream.read(min(size, CHUNK_BYTES))
        if not chunk:
            raise Unfit(TOO_EARLY)
        size -= len(chunk)
        yield chunk


def _skip(stream: Stream, size: int) -> None:
    if len(stream.read(size)) < size:
        raise Unfit(TOO_EARLY)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
