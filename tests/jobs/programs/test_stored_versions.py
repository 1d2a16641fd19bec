"""Stored versions of a source, and checks for a newer version."""

import os
import threading
from email.utils import formatdate
from typing import Any

import pytest

from sluice.jobs.programs.archive.unpack import unpack
from sluice.jobs.programs.errors import FetchStopped
from tests.jobs.programs.archives import Member, archive
from tests.jobs.programs.shop import Shop, digest_of, run_sh
from tests.jobs.programs.web_server import Reply, WebServer

V1 = archive("zip")
V2 = archive("zip", [Member("run.sh", b"#!/bin/sh\necho second\n", mode=0o755)])


def _tagged(web: WebServer, content: bytes, tag: str) -> str:
    return web.put("/a.zip", content, headers=(("ETag", tag),))


def _answers(web: WebServer) -> list[bool]:
    """Return for each request whether it was conditional."""
    return ["if-none-match" in asked.headers or "if-modified-since" in asked.headers for asked in web.asked]


def test_an_unchanged_source_is_checked_and_not_fetched_again(shop: Shop, web: WebServer) -> None:
    source = _tagged(web, V1, '"1"')
    assert [shop.run(source), shop.run(source), shop.run(source)] == ["ran\n"] * 3
    assert _answers(web) == [False, True, True]
    assert shop.said == [
        f"attempting to fetch program 'prog' from {source}",
        f"fetched program 'prog' (sha256 {digest_of(V1)})",
    ]


def test_a_last_modified_date_is_used_once_it_is_old_enough(shop: Shop, web: WebServer) -> None:
    old, new = formatdate(1_000_000_000, usegmt=True), formatdate(usegmt=True)
    source = web.put("/a.zip", V1, headers=(("Last-Modified", new),))
    shop.run(source)
    web.put("/a.zip", V2, headers=(("Last-Modified", new),))
    assert shop.run(source) == "second\n"
    web.put("/a.zip", V2, headers=(("Last-Modified", old),))
    shop.run(source)
    web.put("/a.zip", b"", status=304)
    assert shop.run(source) == "second\n"
    assert _answers(web) == [False, False, False, True]


def test_a_source_without_etag_or_date_is_fetched_each_time(shop: Shop, web: WebServer) -> None:
    source = web.put("/a.zip", V1)
    shop.run(source)
    web.put("/a.zip", V2)
    assert shop.run(source) == "second\n"
    assert _answers(web) == [False, False]


def test_a_changed_source_does_not_affect_a_run_of_the_old_version(shop: Shop, web: WebServer) -> None:
    source = _tagged(web, V1, '"1"')
    with shop.program(source) as running:
        _tagged(web, V2, '"2"')
        assert shop.run(source) == "second\n"
        assert run_sh(running) == "ran\n"
    assert len(shop.versions()) == 2


def test_an_etag_is_not_sent_if_a_redirect_leads_to_another_file(shop: Shop, web: WebServer) -> None:
    """Two files may have the same ETag. An ETag is valid only for its own URL."""
    source = web.put("/latest.zip", status=302, headers=(("Location", "/1.zip?signed=1"),))
    web.put("/1.zip", V1, headers=(("ETag", '"x"'),))
    web.put("/2.zip", V2, headers=(("ETag", '"x"'),))
    shop.run(source)
    web.put("/latest.zip", status=302, headers=(("Location", "/1.zip?signed=2"),))
    shop.run(source)
    web.put("/latest.zip", status=302, headers=(("Location", "/2.zip"),))
    assert shop.run(source) == "second\n"
    assert _answers(web) == [False, False, False, True, False, False]


def test_a_changed_file_of_equal_size_and_time_is_detected(shop: Shop) -> None:
    """The file is changed just after a run, and keeps its size and modification time."""
    scripts = [b"#!/bin/sh\necho a\n", b"#!/bin/sh\necho b\n"]
    for number in range(20):
        source = shop.put("run.sh", scripts[number % 2], mode=0o755)
        os.utime(shop.files / "run.sh", (1_000_000_000, 1_000_000_000))
        assert shop.run(source) == "ab"[number % 2] + "\n"


def test_an_unchanged_file_with_a_reliable_time_is_not_read_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sluice.jobs.programs.fetch.local_file.SETTLED_S", 0.0)
    source = shop.put("a.zip", V1)
    shop.run(source)
    monkeypatch.setattr("sluice.jobs.programs.fetch.local_file._copy", None)
    assert shop.run(source) == "ran\n"


def test_a_pinned_version_in_the_store_needs_no_request(shop: Shop, web: WebServer) -> None:
    source = _tagged(web, V1, '"1"')
    assert shop.run(source, digest_of(V1)) == "ran\n"
    _tagged(web, V2, '"2"')
    assert shop.run(source, digest_of(V1)) == "ran\n"
    assert shop.run("http://nowhere.invalid/other.zip", digest_of(V1)) == "ran\n"
    assert len(web.asked) == 1
    assert "has the sha256" in shop.refusal(source, "0" * 64)
    assert shop.run(source, digest_of(V2)) == "second\n"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply(status=503), "503 Service Unavailable"),
        (Reply(V2, length=9999), f"the connection ended after {len(V2)} of 9999 bytes"),
    ],
)
def test_while_the_server_is_away_the_earlier_version_is_run(
    shop: Shop, web: WebServer, reply: Reply, why: str
) -> None:
    source = _tagged(web, V1, '"1"')
    shop.run(source)
    web.replies["/a.zip"] = reply._replace(then=lambda handler: handler.connection.shutdown(2))
    assert shop.run(source) == "ran\n"
    line = shop.said[-1]
    assert line.startswith(f"could not fetch program 'prog' from {source}: {why}; using the copy fetched at ")
    assert "could not fetch" in shop.refusal(source, digest_of(V2))


def test_while_the_server_hangs_the_earlier_version_is_run(shop: Shop, web: WebServer) -> None:
    source = _tagged(web, V1, '"1"')
    shop.run(source)
    web.replies["/a.zip"] = Reply(V2, length=9999, then=web.hang)
    assert shop.run(source, fetch_timeout_s=2) == "ran\n"
    assert "it took longer than 2 s; using the copy" in shop.said[-1]


@pytest.mark.parametrize("status", [403, 404, 410])
def test_a_program_that_its_server_refuses_is_not_run_any_more(
    shop: Shop, web: WebServer, status: int
) -> None:
    source = _tagged(web, V1, '"1"')
    shop.run(source)
    web.put("/a.zip", status=status)
    assert str(status) in shop.refusal(source)


def test_a_program_with_a_removed_source_file_is_not_run_any_more(shop: Shop) -> None:
    source = shop.put("a.zip", V1)
    shop.run(source)
    (shop.files / "a.zip").unlink()
    shop.refuses(source, "No such file or directory")


@pytest.mark.parametrize("name", ["folder.zip", "pipe.zip", "null.zip"])
def test_a_source_that_is_no_regular_file_is_refused(shop: Shop, name: str) -> None:
    (shop.files / "folder.zip").mkdir()
    os.mkfifo(shop.files / "pipe.zip")
    (shop.files / "null.zip").symlink_to("/dev/null")
    shop.refuses(f"file:{shop.files}/{name}", "it is no file")


def test_a_file_above_the_size_limit_is_refused(shop: Shop) -> None:
    source = shop.put("a.zip", bytes(5000))
    shop.refuses(source, "it has more than the 4999 bytes that are allowed", bytes_max=4999)


def test_each_run_has_a_folder_of_its_own_and_leaves_none(shop: Shop) -> None:
    source = shop.put("a.zip", V1)
    with shop.program(source) as first, shop.program(source) as second:
        (first / "run.sh").write_text("broken")
        (first / "results").mkdir(mode=0o000)
        (first / "link").symlink_to(shop.files)
        assert sorted(path.name for path in second.iterdir()) == ["run.sh"]
        assert run_sh(second) == "ran\n"
    assert shop.leftovers() == []
    assert shop.run(source) == "ran\n"
    assert (shop.files / "a.zip").exists()


def test_programs_of_the_same_content_share_a_version(shop: Shop) -> None:
    for name in ("one", "two"):
        assert shop.run(shop.put(f"{name}.zip", V1), name=name) == "ran\n"
    assert shop.versions() == [f"{digest_of(V1)}.zip"]


def test_two_sources_of_equal_content_fetched_at_once_share_a_version(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = shop.put("one.zip", V1), shop.put("two.zip", V1)
    met: list[str] = []

    def unpack_and_meet(*words: Any) -> bool | None:
        monkeypatch.setattr("sluice.jobs.programs.store.unpack", unpack)
        met.append(shop.run(two))
        return unpack(*words)

    monkeypatch.setattr("sluice.jobs.programs.store.unpack", unpack_and_meet)
    assert [shop.run(one), *met] == ["ran\n", "ran\n"]
    assert len(shop.versions()) == 1
    assert shop.leftovers() == []


def test_an_exception_of_the_run_itself_is_passed_on(shop: Shop) -> None:
    with pytest.raises(FileExistsError, match="mine"), shop.program(shop.put("a.zip", V1)):
        raise FileExistsError("mine")
    assert shop.leftovers() == []


def test_a_run_that_is_stopped_before_it_begins_has_no_program(shop: Shop) -> None:
    shop.stop.set()
    with pytest.raises(FetchStopped):
        shop.run(shop.put("a.zip", V1))
    assert shop.leftovers() == []


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 1}', b"\xff"])
def test_an_unreadable_record_is_ignored(shop: Shop, content: bytes) -> None:
    source = shop.put("a.zip", V1)
    shop.run(source)
    (record,) = (shop.folder / "sources").iterdir()
    (record / "record").write_bytes(content)
    assert shop.run(source) == "ran\n"


def test_many_threads_share_one_store_and_one_fetch(shop: Shop, web: WebServer) -> None:
    source = _tagged(web, V1, '"1"')
    store, printed = shop.store(), []

    def run() -> None:
        with store.program("prog", source, stop=shop.stop, say=shop.said.append) as folder:
            printed.append(run_sh(folder))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert printed == ["ran\n"] * 8
    assert _answers(web).count(False) == 1
    assert shop.leftovers() == []
