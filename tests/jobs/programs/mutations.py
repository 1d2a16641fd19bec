"""Random archives for tests, with valid and hostile members, some of them damaged."""

import random
import struct
from collections.abc import Iterator

from tests.jobs.programs.archives import RUN_SH, Member, archive, compressed, tar_of

FORMS = ("zip", "tar", "tar.gz", "tar.bz2", "tar.xz")
_NAMES = (
    *(
        "a",
        "b",
        "a/b",
        "a/b/c",
        "l",
        "l/x",
        "l/../x",
        "./a",
        "a//b",
        "..",
        "../x",
        "a/../../x",
        "/abs",
        "C:x",
    ),
    *(
        "x\\y",
        "run.sh",
        "run.sh/x",
        "a/",
        "",
        ".",
        "a\nb",
        "n" * 300,
        "d/" * 40 + "x",
        "l2",
        "l2/y",
        "ü",
        "e\u0301",
    ),
)
_TARGETS = (
    *(
        b"a",
        b"b",
        b".",
        b"..",
        b"../..",
        b"../sentinel",
        b"/",
        b"/tmp",
        b"l",
        b"l2",
        b"l/..",
        b"l2/../..",
        b"",
        b"a/b",
    ),
    *(b"run.sh", b"./run.sh", b"../files", b"a/../../../x", b"\xff", b"x" * 2000),
)
_KINDS = ("file", "file", "file", "folder", "symlink", "symlink", "hardlink", "device", "pipe", "socket")


def hostile_archives(seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Yield ``count`` archives with their forms. The same seed yields the same archives."""
    chance = random.Random(seed)
    for number in range(count):
        form = FORMS[number % len(FORMS)]
        yield form, _mutated(chance, form, _drawn(chance, form))


def _drawn(chance: random.Random, form: str) -> bytes:
    members = [RUN_SH] if chance.random() < 0.8 else []
    for _ in range(chance.randrange(8)):
        kind = chance.choice(_KINDS)
        if form == "zip" and kind == "hardlink":
            kind = "symlink"
        content = (
            chance.choice(_TARGETS)
            if kind in {"symlink", "hardlink"}
            else chance.randbytes(chance.randrange(600))
        )
        if kind not in {"file", "symlink", "hardlink"}:
            content = b""
        members.append(
            Member(chance.choice(_NAMES), content, kind, chance.choice((0o644, 0o755, 0o4755, 0o7777, 0)))
        )
    chance.shuffle(members)
    return archive(form, members)


def _mutated(chance: random.Random, form: str, content: bytes) -> bytes:
    """Damage an archive at random. About half stay as they were drawn, because a hostile archive is not damaged."""
    how = chance.randrange(10)
    made = bytearray(content)
    if how == 0:
        for _ in range(chance.randrange(1, 9)):
            made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    elif how == 1:
        del made[chance.randrange(len(made)) :]
    elif how == 2:
        start = chance.randrange(len(made))
        del made[start : start + chance.randrange(1, 600)]
    elif how == 3:
        at, number = chance.randrange(max(1, len(made) - 8)), chance.choice((0, 1, 0xFFFF, 2**31, 2**32 - 1))
        made[at : at + 4] = struct.pack("<I", number)
    elif how == 4 and form.startswith("tar"):
        return compressed(form, _edited_tar(chance))
    return bytes(made)


def _edited_tar(chance: random.Random) -> bytes:
    """Return a tar with random data in a field of a header. The checksum is correct, so that the header is read."""
    made = bytearray(tar_of([RUN_SH, Member(chance.choice(_NAMES[:10]), b"data"), Member("z", b"z")]))
    headers = [at for at in range(0, len(made), 512) if made[at + 257 : at + 262] == b"ustar"]
    at = chance.choice(headers)
    field = chance.choice(((0, 100), (100, 8), (124, 12), (156, 1), (157, 100), (257, 8), (345, 155)))
    start, size = at + field[0], chance.randrange(1, field[1] + 1)
    made[start : start + size] = chance.choice(
        (chance.randbytes(size), bytes([chance.choice(b"/.0\x80\xff")]) * size)
    )
    total = sum(made[at : at + 148]) + 8 * 32 + sum(made[at + 156 : at + 512])
    made[at + 148 : at + 156] = b"%06o\0 " % total
    return bytes(made)
