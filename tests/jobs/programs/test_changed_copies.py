"""Stored copies that another job has changed: none of them is run."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.jobs.programs.content_digest import Contents, folder_has
from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.fetch.download import Patience
from sluice.jobs.programs.program_cache import shared
from tests.jobs.programs.archives import FORMS, RUN_SH, Member, archive
from tests.jobs.programs.shop import Shop, digest_of
from tests.jobs.programs.web_server import WebServer

MEMBERS = [
    RUN_SH,
    Member("lib/data", b"data"),
    Member("lib/empty/", kind="folder"),
    Member("way", b"lib", "symlink"),
]
GOOD = archive("tar.gz", MEMBERS)
CHANGED = "the stored copy of program 'prog' was changed; it is removed and fetched again"


def _relink(link: Path, target: str | None) -> None:
    link.unlink()
    link.write_text("lib") if target is None else link.symlink_to(target)


def _elsewhere(top: Path) -> None:
    top.rename(top.with_name("other"))
    top.symlink_to("other")


CHANGES: dict[str, Callable[[Path], object]] = {
    "appended": lambda top: (top / "run.sh").write_bytes(RUN_SH.content + b"echo TAMPERED\n"),
    "replaced": lambda top: (top / "lib/data").write_bytes(b"atad"),
    "added": lambda top: (top / "lib/more").touch(),
    "folder added": lambda top: (top / "lib/empty/more").mkdir(),
    "link added": lambda top: (top / "more").symlink_to("/etc"),
    "pipe added": lambda top: os.mkfifo(top / "more"),
    "removed": lambda top: (top / "lib/data").unlink(),
    "folder removed": lambda top: (top / "lib/empty").rmdir(),
    "all removed": lambda top: top.rename(top.parents[2] / "elsewhere"),
    "renamed": lambda top: (top / "lib/data").rename(top / "lib/date"),
    "mode": lambda top: (top / "lib/data").chmod(0o755),
    "mode of a folder": lambda top: (top / "lib").chmod(0o777),
    "a special mode": lambda top: (top / "run.sh").chmod(0o4755),
    "link led elsewhere": lambda top: _relink(top / "way", "lib/empty"),
    "file in the place of a link": lambda top: _relink(top / "way", None),
    "pipe in the place of a file": lambda top: (top / "lib/data").unlink() or os.mkfifo(top / "lib/data"),
    "huge": lambda top: os.truncate(top / "lib/data", 2**35),
    "a link in the place of all": _elsewhere,
}


def _top(shop: Shop) -> Path:
    """Return the folder of the only stored copy, from which runs are copied."""
    (script,) = (shop.folder / "versions").rglob("run.sh")
    return script.parent


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_copy_is_fetched_again(shop: Shop, change: str, pinned: bool) -> None:
    """A process that has not used the program before detects it, too: ``shop.run`` opens the store each time."""
    source, digest = shop.put("a.tar.gz", GOOD), digest_of(GOOD) if pinned else None
    shop.run(source, digest)
    CHANGES[change](_top(shop))
    with shop.program(source, digest) as folder:
        assert {path.relative_to(folder).as_posix() for path in folder.rglob("*")} == {
            "run.sh",
            "lib",
            "lib/data",
            "lib/empty",
            "way",
        }
        assert (folder / "run.sh").read_bytes() == RUN_SH.content
        assert (folder / "way" / "data").read_bytes() == b"data"
    assert shop.said.count(CHANGED) == 1
    assert shop.said[-1] == f"fetched program 'prog' (sha256 {digest_of(GOOD)})"
    assert shop.leftovers() == []
    shop.run(source, digest)
    assert shop.said.count(CHANGED) == 1


def test_a_changed_copy_is_detected_by_the_process_that_fetched_it(shop: Shop) -> None:
    source, store = shop.put("a.tar.gz", GOOD), shop.store()
    for _ in range(2):
        with store.program("prog", source, digest_of(GOOD), stop=shop.stop, say=shop.said.append) as folder:
            assert (folder / "run.sh").read_bytes() == RUN_SH.content
        CHANGES["appended"](_top(shop))
    assert CHANGED in shop.said


@pytest.mark.parametrize("form", [*FORMS, "run.sh"])
def test_a_changed_copy_is_detected_even_if_its_archive_was_replaced(shop: Shop, form: str) -> None:
    """The stored archive and its copy are replaced by another program, so that the two match."""
    name = form if form == "run.sh" else f"a.{form}"
    evil = [Member("run.sh", b"#!/bin/sh\necho evil\n", mode=0o755)]
    good, bad = (
        members[0].content if form == "run.sh" else archive(form, members) for members in ([RUN_SH], evil)
    )
    source = shop.put(name, good, mode=0o755)
    assert shop.run(source, digest_of(good)) == "ran\n"
    (_top(shop) / "run.sh").write_bytes(evil[0].content)
    (_top(shop).parent / "fetched").write_bytes(bad)
    assert shop.run(source, digest_of(good)) == "ran\n"
    assert CHANGED in shop.said


@pytest.mark.parametrize("pinned", [True, False])
def test_a_changed_copy_with_an_unavailable_source_fails_in_one_line(
    shop: Shop, web: WebServer, pinned: bool
) -> None:
    source, digest = web.put("/a.tar.gz", GOOD), digest_of(GOOD) if pinned else None
    shop.run(source, digest)
    CHANGES["appended"](_top(shop))
    web.put("/a.tar.gz", b"", status=503)
    assert shop.refusal(source, digest) == (
        "the stored copy was changed, and is removed; "
        f"could not fetch program 'prog' from {source}: 503 Service Unavailable"
    )
    assert shop.versions() == []


def test_a_copy_that_is_changed_each_time_is_not_fetched_indefinitely(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = shop.put("a.tar.gz", GOOD)
    shop.run(source)
    monkeypatch.setattr("sluice.jobs.programs.store.folder_has", lambda *_: False)
    assert (
        shop.refusal(source)
        == f"the stored copy of program 'prog' from {source} was changed again as soon as it was fetched"
    )


def test_a_changed_copy_is_removed_once_no_run_holds_it(shop: Shop) -> None:
    source = shop.put("a.tar.gz", GOOD)
    shop.run(source)
    CHANGES["appended"](_top(shop))
    (version,) = (shop.folder / "versions").iterdir()
    with shared(version):
        with pytest.raises(Unfit, match="it took longer than"):
            shop.run(source, fetch_timeout_s=0.2)
        assert version.exists()
    assert shop.run(source) == "ran\n"


def test_many_threads_detect_a_changed_copy_at_once(shop: Shop) -> None:
    source, store, printed = shop.put("a.tar.gz", GOOD), shop.store(), []
    shop.run(source)
    CHANGES["appended"](_top(shop))

    def run() -> None:
        with store.program("prog", source, digest_of(GOOD), stop=shop.stop, say=shop.said.append) as folder:
            printed.append((folder / "run.sh").read_bytes())

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert printed == [RUN_SH.content] * 8
    assert shop.leftovers() == []


def test_an_extra_member_or_byte_ends_the_comparison_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.jobs.programs.content_digest._digest", lambda _: "read")
    (tmp_path / "data").write_bytes(b"12345")
    patience = Patience(threading.Event(), 60)
    monkeypatch.setattr(
        "sluice.jobs.programs.content_digest._entry", lambda *_: pytest.fail("a member too many is read")
    )
    for members, size in [(1, 9), (2, 4)]:
        assert not folder_has(tmp_path, Contents(members=members, bytes=size, digest="read"), patience)
