"""Sources of programs, and the limits on fetching them.

``parse_source`` parses and validates these forms of a source:

    http://HOST/PATH   https://HOST/PATH   file:PATH   file:///PATH   rsync:PATH   rsync:HOST:PATH

The path ends in an entry of ``SUFFIXES``, or in a bare ``run.sh``. Only the path determines the form of the content; a
URL's query does not.

``Rules`` has the limits on the cost of fetching a program, and the allowed hosts.
"""

import re
from typing import Final, Literal, TypeAlias
from urllib.parse import SplitResult, unquote, urlsplit

from msgspec import Struct

from sluice.jobs.programs.errors import Unfit, one_line
from sluice.jobs.text.redaction import masked, masked_url

Scheme: TypeAlias = Literal["http", "https", "rsync", "file"]
Form: TypeAlias = Literal["zip", "tar", "tar.gz", "tar.bz2", "tar.xz", "run.sh"]

SUFFIXES: Final[dict[str, Form]] = {
    ".zip": "zip",
    ".tar": "tar",
    ".tar.gz": "tar.gz",
    ".tgz": "tar.gz",
    ".tar.bz": "tar.bz2",
    ".tar.bz2": "tar.bz2",
    ".tar.xz": "tar.xz",
}
CHARS_MAX: Final = 2000
POSSIBLE: Final = "a source begins with http://, https://, rsync: or file:"

_REMOTE = re.compile(
    r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*@)?(?P<host>[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+\])"
)


class Source(Struct, frozen=True, kw_only=True):
    """Parsed source. ``place`` is the URL, the path or the rsync address. ``host`` is empty if the file is on this
    machine.

    ``shown`` is the source for people, without the user, password and query of a URL.
    """

    scheme: Scheme
    form: Form
    place: str
    host: str
    shown: str

    @property
    def is_local(self) -> bool:
        return not self.host


def parse_source(text: str) -> Source:
    """Return the source that the text names. Unfit, in one line, if it is invalid."""
    if not text or text != text.strip() or not text.isprintable() or len(text) > CHARS_MAX:
        raise _invalid(masked_source(text))
    scheme, _, rest = text.partition(":")
    match scheme.lower():
        case "http" | "https":
            return _of_url(text)
        case "rsync":
            return _of_rsync(text, rest)
        case "file":
            return _of_file(text, rest)
    raise _invalid(f"{masked_source(text)} ({POSSIBLE})")


def masked_source(text: str) -> str:
    """Return the text without possible secrets. The text may be a URL."""
    if re.match(r"(?:file|rsync):", text, re.IGNORECASE):
        return one_line(masked(text))
    return one_line(masked_url(text))


def _of_url(text: str) -> Source:
    try:
        url = urlsplit(text)
        host, _ = (url.hostname or "").encode("idna").decode().rstrip("."), url.port
    except ValueError:  # UnicodeError is one.
        raise _invalid(masked_source(text)) from None
    if not host or url.port == 0 or " " in text or not text.lower().startswith(f"{url.scheme}://"):
        raise _invalid(masked_source(text))
    shown = _shown_url(url)
    return Source(
        scheme="https" if url.scheme == "https" else "http",
        form=_form(f":{unquote(url.path)}", shown),
        place=text.partition("#")[0],
        host=host.lower(),
        shown=shown,
    )


def _shown_url(url: SplitResult) -> str:
    user, at, place = url.netloc.rpartition("@")
    query = "?***" if url.query else ""
    return one_line(f"{url.scheme}://{'***@' if user or at else ''}{place}{url.path}{query}")


def _of_rsync(text: str, rest: str) -> Source:
    """Parse a source of rsync. As in rsync itself, a colon before the first slash means another machine."""
    head, colon, path = rest.partition(":")
    if rest.startswith("//"):
        raise _invalid(f"{masked_source(text)} (of an rsync daemon; write rsync:HOST:PATH or rsync:/PATH)")
    if not colon or "/" in head:
        return _local("rsync", text, rest)
    found = _REMOTE.fullmatch(head)
    if found is None or not path or path.startswith(("-", ":")) or masked(text) != text:
        raise _invalid(masked_source(text))
    return Source(
        scheme="rsync",
        form=_form(f":{path}", masked_source(text)),
        place=rest,
        host=found["host"].strip("[]").lower(),
        shown=masked_source(text),
    )


def _of_file(text: str, rest: str) -> Source:
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host not in {"", "localhost"}:
            raise _invalid(f"{masked_source(text)} (file: cannot name another machine)")
        rest = unquote(slash + path)
    return _local("file", text, rest)


def _local(scheme: Literal["rsync", "file"], text: str, path: str) -> Source:
    shown = masked_source(text)
    if not path or path.startswith("-") or "\0" in path:
        raise _invalid(shown)
    return Source(scheme=scheme, form=_form(f":{path}", shown), place=path, host="", shown=shown)


def _form(path: str, shown: str) -> Form:
    """Return the form. ``path`` begins with a colon, so that a bare ``run.sh`` without a folder is recognized."""
    if path.endswith(("/run.sh", ":run.sh")):
        return "run.sh"
    lower = path.lower()
    for suffix, form in SUFFIXES.items():
        if lower.endswith(suffix):
            return form
    raise _invalid(shown)


def _invalid(shown: str) -> Unfit:
    return Unfit(f"invalid type of archive / program: {shown}")


_MIB: Final = 1024 * 1024


class Rules(Struct, frozen=True, kw_only=True):
    """Limits of one store of programs.

    ``hosts`` are names or addresses that may be fetched from although they are private, loopback or link-local; ``*``
    means every host. ``ratio_max`` is the maximum size of a member or archive in multiples of its compressed size.
    ``versions_max`` is the number of versions to keep that no run has used for a day. ``dir_bytes_max`` limits all
    versions together, used or not.
    """

    fetch_timeout_s: float = 300.0
    bytes_max: int = 512 * _MIB
    unpacked_bytes_max: int = 2048 * _MIB
    files_max: int = 20_000
    ratio_max: int = 200
    hosts: tuple[str, ...] = ()
    versions_max: int = 20
    dir_bytes_max: int = 10 * 1024 * _MIB
