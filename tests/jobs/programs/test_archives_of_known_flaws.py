"""Archives that could write outside when the standard library unpacked them, even with its filter. Neither is used.

The first two tests have the form of CVE-2025-4517 and related flaws (3.11 before 3.11.13). Links with short names
follow each other, and lead so deep that the path is longer than the system allows. Then ``realpath`` does not resolve
the path to its end, but a write does.
"""

import io
import tarfile
import zipfile

import pytest

from tests.jobs.programs.archives import RUN_SH, Member, archive, tar_of
from tests.jobs.programs.shop import Shop

STEPS = "abcdefghijklmnop"


def _through_links(name_length: int, *, out: str) -> list[Member]:
    """Return nested folders, each with a link to it beside it. In the last is a link back up, through which ``escape``
    leads out.
    """
    members, path = [RUN_SH], ""
    for step in STEPS:
        folder = "d" * name_length
        members += [
            Member(f"{path}{folder}/", kind="folder"),
            Member(f"{path}{step}", folder.encode(), "symlink"),
        ]
        path += f"{folder}/"
    short = "/".join(STEPS)
    members.append(Member(f"{short}/{'l' * name_length}", ("../" * len(STEPS)).encode(), "symlink"))
    members.append(Member("escape", f"{short}/{'l' * name_length}/{out}".encode(), "symlink"))
    members += [Member("mine", b"escape/sentinel", "hardlink"), Member("mine", b"overwritten")]
    return members


@pytest.mark.parametrize("name_length", [3, 20, 247])
def test_no_chain_of_links_is_long_enough_to_lead_out(shop: Shop, name_length: int) -> None:
    source = shop.put("a.tar", tar_of(_through_links(name_length, out="../../")))
    assert "cannot be unpacked" in shop.refusal(source)
    assert (shop.around / "sentinel").read_text() == "untouched"


@pytest.mark.parametrize("form", ["zip", "tar"])
def test_links_that_only_lead_out_together_are_refused(shop: Shop, form: str) -> None:
    chain = [Member("a/b/c/up", b"../..", "symlink"), Member("over", b"a/b/c/up", "symlink")]
    out = Member("escape", b"over/../../around", "symlink")
    source = shop.put(f"bad.{form}", archive(form, [RUN_SH, *chain, out]))
    assert "the link 'escape' leads out of the archive" in shop.refusal(source)
    assert shop.run(shop.put(f"good.{form}", archive(form, [RUN_SH, *chain]))) == "ran\n"


def test_no_member_is_written_through_a_link(shop: Shop) -> None:
    """CVE-2025-4330: the filter checked the target of a link, and another member was written to where the link led."""
    members = [
        Member("d", b".", "symlink"),
        Member("d/e", b"..", "symlink"),
        Member("d/e/sentinel", b"overwritten"),
    ]
    assert "which is no folder" in shop.refusal(shop.put("a.tar", tar_of([RUN_SH, *members])))


def test_a_member_of_negative_size_is_refused(shop: Shop) -> None:
    """CVE-2025-8194: a reader that moves back by this size reads the same member indefinitely."""
    header = bytearray(tarfile.TarInfo("x").tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"\xff" * 12
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header[:512])
    source = shop.put("a.tar", bytes(header) + tar_of([RUN_SH]))
    assert "a member has a negative size" in shop.refusal(source)


@pytest.mark.parametrize("form", ["zip", "tar", "tar.gz"])
def test_nothing_is_unpacked_by_the_standard_library(
    shop: Shop, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = archive(form)
    for kind, words in (
        (tarfile.TarFile, ("extract", "extractall", "next")),
        (zipfile.ZipFile, ("extract", "open")),
    ):
        for word in words:
            monkeypatch.setattr(kind, word, lambda *_, **__: pytest.fail("the standard library was asked"))
    assert shop.run(shop.put(f"a.{form}", content)) == "ran\n"


def test_the_standard_library_reads_an_archive_that_is_refused_here() -> None:
    """This shows that the archive is valid, and not random data."""
    with tarfile.open(fileobj=io.BytesIO(tar_of(_through_links(247, out="../../")))) as tar:
        assert [member.name for member in tar][-1] == "mine"
