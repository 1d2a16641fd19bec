"""The files of the console's page: each file under its own path, and the page under the path of each screen."""

import re
from pathlib import Path

import pytest

from sluice.ops.console.files import FOLDER, SCREENS, Files
from sluice.ops.console.http_message import Request, Response

PAGE = b"<!doctype html>"
SCRIPT = b"export {}"


@pytest.fixture
def files(tmp_path: Path) -> Files:
    folder = tmp_path / "page"
    (folder / "assets" / "icons").mkdir(parents=True)
    (folder / "index.html").write_bytes(PAGE)
    (folder / "assets" / "main.js").write_bytes(SCRIPT)
    (folder / "assets" / "icons" / "job.svg").write_bytes(b"<svg/>")
    (folder / "assets" / "notes.md").write_bytes(b"not for the page")
    (tmp_path / "secret.txt").write_bytes(b"not for anybody")
    return Files(folder)


def asked(files: Files, path: str, **headers: str) -> Response:
    return files.answer(Request(method="GET", path=path, headers=headers))


@pytest.mark.parametrize(
    ("path", "status", "kind", "content"),
    [
        ("/", 200, "text/html; charset=utf-8", PAGE),
        ("/jobs/report/20261120", 200, "text/html; charset=utf-8", PAGE),
        ("/index.html", 200, "text/html; charset=utf-8", PAGE),
        ("/assets/main.js", 200, "text/javascript; charset=utf-8", SCRIPT),
        ("/assets/icons/job.svg", 200, "image/svg+xml", b"<svg/>"),
        ("/secret.txt", 404, "text/html; charset=utf-8", PAGE),
        ("/nonsense/deep", 404, "text/html; charset=utf-8", PAGE),
        ("/job", 404, "text/html; charset=utf-8", PAGE),
        ("/healthz/deep", 404, "text/html; charset=utf-8", PAGE),
    ],
)
def test_a_path_returns_its_file_or_the_page(
    path: str, status: int, kind: str, content: bytes, files: Files
) -> None:
    said = asked(files, path)
    assert (said.status, said.kind, said.body) == (status, kind, content)


@pytest.mark.parametrize(
    "path",
    [
        "/assets/none.js",
        "/assets/",
        "/assets/notes.md",
        "/assets/../../secret.txt",
        "/assets/%2e%2e/%2e%2e/secret.txt",
        "/assets//main.js",
    ],
)
def test_no_path_leads_out_of_the_assets(path: str, files: Files) -> None:
    assert asked(files, path).status == 404


def test_a_file_that_the_client_has_is_not_sent_again(files: Files) -> None:
    tag = asked(files, "/assets/main.js").headers["ETag"]
    for known in (tag, f"W/{tag}", f'"another", {tag}'):
        said = asked(files, "/assets/main.js", **{"if-none-match": known})
        assert (said.status, said.body, said.headers["ETag"]) == (304, b"", tag)
    assert asked(files, "/", **{"if-none-match": tag}).status == 200


def test_a_missing_page_is_never_answered_as_known(files: Files) -> None:
    tag = asked(files, "/").headers["ETag"]
    assert asked(files, "/nonsense", **{"if-none-match": tag}).status == 404


def test_the_paths_of_screens_are_those_of_the_page() -> None:
    places = (FOLDER / "assets" / "js" / "places.js").read_text()
    table = places.partition("const SCREENS = {")[2].partition("};")[0]
    assert {*re.findall(r'^    "?(\w*)"?: \(', table, re.MULTILINE)} == SCREENS


def test_without_a_built_page_the_path_is_not_found(tmp_path: Path) -> None:
    assert asked(Files(tmp_path), "/").status == 404
