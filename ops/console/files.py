"""Files of the page. A file below ``/assets/`` is served under its own path. The path of a screen gets the page itself,
which selects the screen by the path. Any other path gets the page too, with the status 404: a load balancer that probes
a path by mistake must not take it for an answer.

Files are read once, when the console starts. So no other file can be served, whatever the path contains.
"""

from collections.abc import Mapping
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

from msgspec import Struct

from sluice.ops.console.http_message import Request, Response, problem

FOLDER = Path(__file__).parent / "page"
#: Suffixes and types of the page's files. Files with other suffixes are not served.
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
#: Browsers check on each use whether a file is unchanged, because a new version has the same file names.
_CACHED = "no-cache"
_ASSETS = "/assets/"
_INDEX = "/index.html"
#: First words of the paths of screens, as in ``page/assets/js/places.js``.
SCREENS = frozenset(
    {
        "",
        "apps",
        "audit",
        "jobs",
        "notifications",
        "partitions",
        "sagas",
        "schedules",
        "submissions",
        "submit",
        "workers",
    }
)


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

    def answer(self, request: Request) -> Response:
        """Return the file. Paths outside of the assets get the page itself, with 404 if no screen has the path."""
        path = request.path if request.path.startswith(_ASSETS) else _INDEX
        found = self._files.get(path)
        if found is None and path == _INDEX:
            return problem(
                HTTPStatus.NOT_FOUND, "The page is not installed here.", "The calls below /api are available."
            )
        if found is None:
            return problem(HTTPStatus.NOT_FOUND, "The page has no such file.")
        if path == _INDEX and not _is_screen(request.path):
            return Response(status=HTTPStatus.NOT_FOUND, kind=found.kind, content=found.content)
        headers = {"ETag": found.tag, "Cache-Control": _CACHED}
        if is_known(request, found.tag):
            return Response(status=HTTPStatus.NOT_MODIFIED, kind=found.kind, headers=headers, content=b"")
        return Response(kind=found.kind, headers=headers, content=found.content)


def _is_screen(path: str) -> bool:
    return path == _INDEX or path.removeprefix("/").partition("/")[0] in SCREENS


def tag_of(content: bytes) -> str:
    return f'"{sha256(content).hexdigest()[:32]}"'


def is_known(request: Request, tag: str) -> bool:
    """Return whether the client already has the content with this tag."""
    known = request.headers.get("if-none-match", "")
    return tag in (each.strip().removeprefix("W/") for each in known.split(","))


def _read(path: Path) -> _File:
    content = path.read_bytes()
    return _File(content, KINDS[path.suffix], tag_of(content))
