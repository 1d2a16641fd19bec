"""Archives that are refused, each with an error in one line. The limits are small unless that affects the result."""

import gzip
import lzma
import random
import struct
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.jobs.programs.archives import (
    FORMS,
    RUN_SH,
    Member,
    archive,
    compressed,
    pax_of,
    tar_of,
    zip_by_hand,
    zip_of,
    zip_whose_directory_is_at,
)
from tests.jobs.programs.shop import Shop

MIB = 1024 * 1024
SMALL = {"unpacked_bytes_max": MIB, "files_max": 50, "ratio_max": 100}
DENSE = {"ratio_max": 100}


class Bad(NamedTuple):
    form: str
    content: bytes
    why: str
    limits: dict[str, int] = SMALL


def _both(why: str, *members: Member) -> list[Bad]:
    return [Bad(form, archive(form, [RUN_SH, *members]), why) for form in ("zip", "tar.gz")]


def _tar(why: str, *members: Member) -> Bad:
    return Bad("tar", tar_of([RUN_SH, *members]), why)


def _zip_with(offset: int, form: str, *values: int, of: bytes = b"PK\1\2") -> bytes:
    """Return a zip with changed fields in the last entry of its directory, or in another header."""
    made = bytearray(zip_of([RUN_SH, Member("data", b"data " * 20)]))
    struct.pack_into(form, made, made.rindex(of) + offset, *values)
    return bytes(made)


def _flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


TOO_DENSE = "it unpacks to more than 100 times its size"
OUT = "leads out of the archive"
KINDS = "only files, folders and links are accepted"
DAMAGED = "it is damaged, or its compression does not match its name"
NO_TAR, NO_ZIP, EARLY = "it is damaged, or no tar file", "it is damaged, or no zip file", "it ends too early"
ZEROS = bytes(5 * MIB)
NOISE = random.Random(0).randbytes(2 * MIB)

BAD = [
    *_both("the member '../evil' " + OUT, Member("../evil")),
    *_both("the member 'a/../../evil' " + OUT, Member("a/../../evil")),
    *_both("the member 'a/..' " + OUT, Member("a/..", kind="folder")),
    *_both("the member '/etc/evil' has an absolute path", Member("/etc/evil")),
    *_both("the member 'C:evil' has an absolute path", Member("C:evil")),
    *_both("the member '..\\\\evil' has a backslash in its name", Member("..\\evil")),
    *_both("the member 'a\\nb' has characters in its name that cannot be printed", Member("a\nb")),
    Bad("zip", zip_of([RUN_SH, Member("a\0b")]), "the member 'a\\x00b' has a NUL in its name"),
    Bad("tar", pax_of([RUN_SH], {"path": "a\0b"}), "the member 'a\\x00b' has a NUL in its name"),
    _tar("the member 'a\ufffdb' has a name that is not UTF-8", Member(b"a\xffb")),
    *_both(f"the member '{'a' * 79}…' has too long a name", Member("a" * 256)),
    *_both(f"the member '{('b' * 199 + '/')[:79]}…' has too long a name", Member(("b" * 199 + "/") * 6)),
    *_both(f"the member '{'c/' * 39}c…' is deeper than 32 folders", Member("c/" * 40 + "c")),
    *_both("the member 'run.sh' exists twice", Member("run.sh")),
    *_both("the member 'run.sh' exists twice", Member("./run.sh")),
    *_both("the member 'a' exists twice", Member("a/b"), Member("a")),
    *_both("the member 'a' exists twice", Member("a/", kind="folder"), Member("a/", kind="folder")),
    *_both("the member 'run.sh/a' is in 'run.sh', which is no folder", Member("run.sh/a")),
    *_both("the member 'l/a' is in 'l', which is no folder", Member("l", b".", "symlink"), Member("l/a")),
    *_both("the member 'l' exists twice", Member("l/a"), Member("l", b"..", "symlink")),
    *_both("the link 'l' " + OUT, Member("l", b"..", "symlink")),
    *_both("the link 'l' " + OUT, Member("l", b"/etc/passwd", "symlink")),
    *_both("the link 'a/b/l' " + OUT, Member("a/b/l", b"../../../x", "symlink")),
    *_both("the link 'm' " + OUT, Member("a/l", b"..", "symlink"), Member("m", b"a/l/../x", "symlink")),
    *_both("the link 'm' " + OUT, Member("m", b"gone/../../x", "symlink")),
    *_both("the link 'l' leads over more than 40 others, or in a circle", Member("l", b"l/x", "symlink")),
    *_both(
        "the link 'l' leads over more than 40 others, or in a circle",
        Member("l", b"m", "symlink"),
        Member("m", b"l", "symlink"),
    ),
    *_both("the link 'l' leads to no usable name", Member("l", b"a\\b", "symlink")),
    *_both("the link 'l' leads to no usable name", Member("l", b"\xff", "symlink")),
    Bad("zip", zip_of([RUN_SH, Member("l", b"", "symlink")]), "the link 'l' leads to no usable name"),
    Bad("zip", zip_of([RUN_SH, Member("l", b"a" * 2000, "symlink")]), "the link 'l' leads to no usable name"),
    _tar("the link 'l' leads to 'gone', which is no file before it", Member("l", b"gone", "hardlink")),
    _tar("the link 'l' leads to '', which is no file before it", Member("l", b".", "hardlink")),
    _tar("the member '../x' " + OUT, Member("l", b"../x", "hardlink")),
    _tar("the member '/etc/passwd' has an absolute path", Member("l", b"/etc/passwd", "hardlink")),
    _tar(
        "the link 'h' leads to 'l', which is no file before it",
        Member("l", b"run.sh", "symlink"),
        Member("h", b"l", "hardlink"),
    ),
    _tar(f"the member 'd' is a device; {KINDS}", Member("d", kind="device")),
    _tar(f"the member 'd' is a device; {KINDS}", Member("d", kind="disk")),
    _tar(f"the member 'd' is a named pipe; {KINDS}", Member("d", kind="pipe")),
    _tar(f"the member 'd' is a sparse file; {KINDS}", Member("d", kind="sparse")),
    _tar(f"the member 'd' is of an unknown kind; {KINDS}", Member("d", kind="socket")),
    *(
        Bad("zip", zip_of([RUN_SH, Member("d", kind=kind)]), f"the member 'd' is no file; {KINDS}")
        for kind in ("device", "disk", "pipe", "socket")
    ),
    Bad("tar", pax_of([RUN_SH], {"path": "x"}, is_global=True), "a header gives all members the same path"),
    Bad("tar", pax_of([RUN_SH], {"size": "99999999999"}), EARLY),
    Bad("tar", pax_of([RUN_SH], {"size": "-1"}), "it is damaged: a member has no size"),
    Bad("tar", pax_of([RUN_SH], {"GNU.sparse.major": "1"}), f"it has a sparse file; {KINDS}"),
    Bad("tar", pax_of([RUN_SH], {"comment": "x" * 70000}), "a header is longer than 65536 bytes"),
    *_both(
        "it has more than the 50 files and folders that are allowed", *(Member(f"f{n}") for n in range(50))
    ),
    Bad(
        "tar",
        tar_of([RUN_SH, Member("x/y/z/" * 3 + "f"), *(Member(f"d{n}/f") for n in range(25))]),
        "it has more than the 50 files and folders that are allowed",
    ),
    *_both("it unpacks to more than the 1048576 bytes that are allowed", Member("big", NOISE)),
    _tar(
        "it unpacks to more than the 1048576 bytes that are allowed",
        Member("big", NOISE[:600_000]),
        Member("again", b"big", "hardlink"),
    ),
    *(
        Bad(
            form,
            archive(form, [RUN_SH, Member("bomb", ZEROS)]),
            TOO_DENSE,
            DENSE,
        )
        for form in ("zip", "tar.gz", "tar.bz2", "tar.xz")
    ),
    *(
        Bad(form, archive(form, [RUN_SH, *(Member(f"{n}", ZEROS[:MIB]) for n in range(5))]), TOO_DENSE, DENSE)
        for form in ("zip", "tar.gz", "tar.bz2", "tar.xz")
    ),
    Bad("tar.gz", compressed("tar.gz", tar_of([RUN_SH]) + ZEROS), TOO_DENSE, DENSE),
    Bad(
        "tar.xz",
        lzma.compress(tar_of([RUN_SH]), filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 256 * MIB}]),
        DAMAGED,
    ),
    *(Bad(form, b"", EARLY) for form in FORMS if form != "zip"),
    *(Bad(form, archive(form)[:-30], EARLY) for form in ("tar.gz", "tar.bz2", "tar.xz")),
    *(Bad(form, archive(form)[:60], EARLY) for form in FORMS if form != "zip"),
    *(Bad(form, b"<html>sign in</html>" * 99, DAMAGED) for form in ("tar.gz", "tar.bz2", "tar.xz")),
    *(Bad(form, archive(form) + b"more and more of it", DAMAGED) for form in ("tar.gz", "tar.bz2", "tar.xz")),
    Bad("tar.gz", _flipped(gzip.compress(tar_of([RUN_SH])), -6), DAMAGED),
    Bad("tar", b"<html>sign in</html>" * 99, NO_TAR),
    Bad("tar", archive("tar.gz") * 9, NO_TAR),
    Bad("tar", tar_of([RUN_SH])[:1024], EARLY),
    Bad("tar", tar_of([RUN_SH])[:520], EARLY),
    Bad("tar", _flipped(tar_of([RUN_SH]), 3), NO_TAR),
    Bad("zip", b"", NO_ZIP),
    Bad("zip", b"<html>sign in</html>" * 99, NO_ZIP),
    Bad("zip", archive("zip")[:-1], NO_ZIP),
    Bad("zip", archive("zip")[10:], NO_ZIP),
    Bad("zip", b"#!/bin/sh\n" + archive("zip"), NO_ZIP),
    Bad("zip", _flipped(archive("zip"), 40), "the member 'run.sh' is damaged"),
    *(Bad("zip", zip_by_hand(more), "the member 'run.sh' is damaged") for more in (b"\0", bytes(200_000))),
    Bad("zip", zip_by_hand(at=2**40), EARLY),
    *(Bad("zip", zip_by_hand(at=far), NO_ZIP) for far in (2**63 - 1, 2**63, 2**64 - 1)),
    *(Bad("zip", zip_whose_directory_is_at(far), NO_ZIP) for far in (2**63 - 1, 2**64 - 1)),
    Bad("zip", _zip_with(16, "<L", 7), "the member 'data' is damaged"),
    Bad("zip", _zip_with(24, "<L", 99), "the member 'data' is damaged"),
    Bad("zip", _zip_with(24, "<L", 101), "the member 'data' is damaged"),
    Bad("zip", _zip_with(20, "<L", 4), "the member 'data' is damaged"),
    Bad("zip", _zip_with(20, "<L", 4000), "it is damaged: its members overlap"),
    Bad("zip", _zip_with(8, "<H", 1), "the member 'data' is encrypted"),
    Bad("zip", _zip_with(10, "<H", 12), "it is damaged: the member 'data' is not where it should be"),
    Bad("zip", _zip_with(42, "<L", 0), "it is damaged: the member 'data' is not where it should be"),
    Bad("zip", _zip_with(42, "<L", 2**31), EARLY),
    Bad("zip", _zip_with(42, "<L", 2**32 - 1), NO_ZIP),
    Bad("zip", _zip_with(8, "<2H", 9, 9, of=b"PK\5\6"), EARLY),
    Bad("zip", _zip_with(8, "<2H", 1, 1, of=b"PK\5\6"), NO_ZIP),
    Bad(
        "zip",
        _zip_with(8, "<2H", 60, 60, of=b"PK\5\6"),
        "it has more than the 50 files and folders that are allowed",
    ),
    Bad("zip", _zip_with(8, "<2H", 65535, 65535, of=b"PK\5\6"), NO_ZIP),
    Bad(
        "zip",
        zip_of([RUN_SH], zipfile.ZIP_BZIP2),
        "the member 'run.sh' has an unknown compression method (12)",
    ),
]


def test_the_zip_made_by_hand_is_valid_without_a_fault(shop: Shop) -> None:
    assert shop.run(shop.put("a.zip", zip_by_hand())) == "ran\n"


@pytest.mark.parametrize("number", range(len(BAD)))
def test_a_bad_archive_is_refused_in_one_line_before_anything_is_written(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr("sluice.jobs.programs.store.unpack", lambda *_: pytest.fail("it is unpacked"))
    form, content, why, limits = BAD[number]
    source = shop.put(f"a.{form}", content)
    assert shop.refusal(source, **limits) == f"program 'prog' from {source} cannot be unpacked: {why}"
    assert shop.versions() == []


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "member", [Member("x/run.sh", RUN_SH.content, mode=0o755), Member("run.sh/", kind="folder", mode=0o755)]
)
def test_run_sh_must_be_at_the_top_level(shop: Shop, form: str, member: Member) -> None:
    source = shop.put(f"a.{form}", archive(form, [member]))
    assert shop.refusal(source) == f"program 'prog' has no run.sh at the top level of {source}"


@pytest.mark.parametrize("form", FORMS)
def test_run_sh_must_be_executable(shop: Shop, form: str) -> None:
    source = shop.put(f"a.{form}", archive(form, [Member("run.sh", RUN_SH.content)]))
    assert shop.refusal(source) == f"run.sh of program 'prog' from {source} is not executable"


def test_a_bare_run_sh_must_be_executable_at_its_source(shop: Shop) -> None:
    source = shop.put("run.sh", RUN_SH.content)
    assert shop.refusal(source) == f"could not fetch program 'prog' from {source}: it is not executable"


@pytest.mark.parametrize("form", FORMS)
def test_special_mode_bits_are_dropped_and_inner_links_are_kept(shop: Shop, form: str) -> None:
    members = [
        Member("./run.sh", RUN_SH.content, mode=0o4777),
        Member("bin/tool", b"tool", mode=0o2711),
        Member("bin/", kind="folder", mode=0o1000),
        Member("data", b"data", mode=0o000),
        Member("lib/data", b"../data", "symlink"),
        Member("way", b"lib/../bin", "symlink"),
        Member("gone", b"not/there", "symlink"),
    ]
    with shop.program(shop.put(f"a.{form}", archive(form, members))) as folder:
        assert {
            path.relative_to(folder).as_posix(): oct(path.lstat().st_mode)[2:] for path in _files(folder)
        } == {
            "run.sh": "100755",
            "bin/tool": "100755",
            "data": "100644",
        }
        assert oct((folder / "bin").stat().st_mode)[-4:] == "0755"
        assert (folder / "lib" / "data").read_bytes() == b"data"
        assert (folder / "way" / "tool").read_bytes() == b"tool"
        assert (folder / "gone").readlink() == Path("not/there")


def test_a_hard_link_becomes_a_copy(shop: Shop) -> None:
    members = [RUN_SH, Member("data", b"data"), Member("more/same", b"./data", "hardlink")]
    with shop.program(shop.put("a.tar", tar_of(members))) as folder:
        (folder / "data").write_text("changed")
        assert (folder / "more" / "same").read_bytes() == b"data"


def test_long_names_in_both_tar_formats_are_read(shop: Shop) -> None:
    long = "/".join(["folder-" + "x" * 60] * 3 + ["file"])
    for content in (tar_of([RUN_SH, Member(long, b"1")]), pax_of([Member(long, b"1"), RUN_SH], {})):
        with shop.program(shop.put("a.tar", content)) as folder:
            assert (folder / long).read_bytes() == b"1"


def test_several_compressed_streams_in_a_row_are_one_archive(shop: Shop) -> None:
    tar = tar_of([RUN_SH, Member("data", NOISE[:MIB])])
    for form in ("tar.gz", "tar.bz2", "tar.xz"):
        content = compressed(form, tar[:700_000]) + compressed(form, tar[700_000:]) + bytes(8)
        assert shop.run(shop.put(f"a.{form}", content)) == "ran\n"


def test_the_members_of_a_zip_are_checked_before_any_is_read(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "sluice.jobs.programs.archive.zip_files._content", lambda *_: pytest.fail("a member is read")
    )
    for members, why in [
        ([RUN_SH, *(Member(f"{n}", NOISE[: MIB // 2]) for n in range(3))], "more than the 1048576 bytes"),
        ([RUN_SH, Member("../evil")], OUT),
    ]:
        source = shop.put("a.zip", zip_of(members))
        assert why in shop.refusal(source, **SMALL)


def test_a_zip64_archive_is_read(shop: Shop) -> None:
    with zipfile.ZipFile(shop.files / "a.zip", "w", zipfile.ZIP_DEFLATED) as file:
        info = zipfile.ZipInfo("run.sh")
        info.external_attr = 0o100755 << 16
        with file.open(info, "w", force_zip64=True) as out:
            out.write(RUN_SH.content)
        file.comment = b"PK\5\6 is in the comment, too"
    assert shop.run(f"file:{shop.files}/a.zip") == "ran\n"


def _files(folder: Path) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and "way" not in path.parts
    ]
