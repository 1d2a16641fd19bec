"""The page's files: each is answered under its own path below the folder, and whatever else is asked for gets the page
itself, which knows what to show there.

They are read once, when the console starts. So what is answered is one of those that were there, whatever a path says.
"""

from collections.abc import Mapping
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

from msgspec import Struct

from sluice.ops.console.exchange import Answer, Request, problem

FOLDER = Path(__file__).parent / "page"
#: Other kinds of files are not the page's.
KINDS: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
#: Whoever has one asks each time whether it is still the same: a new version has the old names.
_CACHED = "no-cache"
_ASSETS = "/assets/"
_INDEX = "/index.html"


class _File(Struct, frozen=True):
    content: bytes
    kind: str
    tag: str


class Files:
    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            f"/{path.relative_to(folder).as_posix()}": _read(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix in KINDS
        }

    def answer(self, request: Request) -> Answer:
        """The file; the page itself for all paths that are not of its assets."""
        path = request.path if request.path.startswith(_ASSETS) else _INDEX
        found = self._files.get(path)
        if found is None and path == _INDEX:
            return problem(
                HTTPStatus.NOT_FOUND, "The page is not installed here.", "The calls below /api are."
            )
        if found is None:
            return problem(HTTPStatus.NOT_FOUND, "The page has no such file.")
        headers = {"ETag": found.tag, "Cache-Control": _CACHED}
        if is_known(request, found.tag):
            return Answer(status=HTTPStatus.NOT_MODIFIED, kind=found.kind, headers=headers, content=b"")
        return Answer(kind=found.kind, headers=headers, content=found.content)


def tag_of(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:32]}"'


def is_known(request: Request, tag: str) -> bool:
    """Whether whoever asks has what this is the tag of."""
    known = request.headers.get("if-none-match", "")
    return tag in (each.strip().removeprefix("W/") for each in known.split(","))


def _read(path: Path) -> _File:
    content = path.read_bytes()
    return _File(content, KINDS[path.suffix], tag_of(content))
