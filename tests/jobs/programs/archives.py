"""Archives for tests: valid archives, and archives that no usual tool creates."""

import bz2
import gzip
import io
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from typing import NamedTuple

SCRIPT = b"#!/bin/sh\necho ran $*\n"
#: As ``xz -6``: a reader needs the same 8 MiB. The simplest match finder has a small hash table. The preset's own match
#: finder would leave 16 MiB more in the test process.
_XZ_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "mf": lzma.MF_BT2}]
FORMS = ("zip", "tar", "tar.gz", "tgz", "tar.bz", "tar.bz2", "tar.xz")

_TYPES = {
    "file": tarfile.REGTYPE,
    "folder": tarfile.DIRTYPE,
    "symlink": tarfile.SYMTYPE,
    "hardlink": tarfile.LNKTYPE,
    "device": tarfile.CHRTYPE,
    "disk": tarfile.BLKTYPE,
    "pipe": tarfile.FIFOTYPE,
    "sparse": tarfile.GNUTYPE_SPARSE,
    "socket": b"s",
}
_MODES = {
    "file": stat.S_IFREG,
    "folder": stat.S_IFDIR,
    "symlink": stat.S_IFLNK,
    "device": stat.S_IFCHR,
    "disk": stat.S_IFBLK,
    "pipe": stat.S_IFIFO,
    "socket": stat.S_IFSOCK,
}


class Member(NamedTuple):
    """Member of an archive. The ``content`` of a link is its target."""

    name: str | bytes
    content: bytes = b""
    kind: str = "file"
    mode: int = 0o644


RUN_SH = Member("run.sh", SCRIPT, mode=0o755)


def archive(form: str, members: Sequence[Member] = (RUN_SH,)) -> bytes:
    return zip_of(members) if form == "zip" else compressed(form, tar_of(members))


def compressed(form: str, tar: bytes) -> bytes:
    match form:
        case "tar.gz" | "tgz":
            return gzip.compress(tar)
        case "tar.bz" | "tar.bz2":
            return bz2.compress(tar)
        case "tar.xz":
            return lzma.compress(tar, filters=_XZ_FILTERS)
    return tar


def tar_of(members: Sequence[Member]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
        for member in members:
            info = tarfile.TarInfo(_text(member.name))
            info.type, info.mode = _TYPES[member.kind], member.mode
            if member.kind in {"symlink", "hardlink"}:
                info.linkname = _text(member.content)
            else:
                info.size = len(member.content)
            tar.addfile(info, io.BytesIO(member.content) if info.size else None)
    return made.getvalue()


def pax_of(members: Sequence[Member], headers: dict[str, str], *, is_global: bool = False) -> bytes:
    """Return a tar with these headers for its first member, or for all members if ``is_global``."""
    made = io.BytesIO()
    with tarfile.open(
        fileobj=made, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers if is_global else {}
    ) as tar:
        for number, member in enumerate(members):
            info = tarfile.TarInfo(_text(member.name))
            info.size, info.mode = len(member.content), member.mode
            if number == 0 and not is_global:
                info.pax_headers = headers
            tar.addfile(info, io.BytesIO(member.content))
    return made.getvalue()


def zip_of(members: Sequence[Member], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for member in members:
            info = zipfile.ZipInfo("-")
            info.filename = member.name if isinstance(member.name, str) else member.name.decode("cp437")
            info.orig_filename, info.compress_type = info.filename, method
            info.external_attr = (_MODES[member.kind] | member.mode) << 16
            with file.open(info, "w") as out:
                out.write(member.content)
            file.NameToInfo.clear()  # Otherwise it warns of duplicate names.
    return made.getvalue()


def zip_by_hand(after: bytes = b"", at: int = 0) -> bytes:
    """Return a zip of one member, with ``after`` behind its compressed data, and ``at`` as the offset of the member."""
    name, packed = b"run.sh", zlib.compress(RUN_SH.content, wbits=-zlib.MAX_WBITS) + after
    same = (zlib.crc32(RUN_SH.content), len(packed), len(RUN_SH.content), len(name))
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, *same, 0) + name + packed
    extra = struct.pack("<2HQ", 1, 8, at)
    rest = (len(extra), 0, 0, 0, 0o100755 << 16, 2**32 - 1)
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 0, *same, *rest) + name + extra
    return local + entry + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(local), 0)


def zip_whose_directory_is_at(at: int) -> bytes:
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, 2**32 - 1, 2**32 - 1, 0)
    return bytes(100) + struct.pack("<4sLQL", b"PK\6\7", 0, at, 1) + end


def _text(raw: str | bytes) -> str:
    return raw if isinstance(raw, str) else raw.decode("utf-8", "surrogateescape")
