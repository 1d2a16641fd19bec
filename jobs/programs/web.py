"""Programs from web servers."""

import base64
import http.client
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

from sluice.jobs.programs.mark import Fetched, Mark
from sluice.jobs.programs.patience import Patience
from sluice.jobs.programs.rules import Rules
from sluice.jobs.programs.source import Source
from sluice.jobs.programs.spool import Spool
from sluice.jobs.programs.unfit import Away, Unfit, one_line, reason_of
from sluice.jobs.programs.wire import connect

REDIRECTS_MAX: Final = 5
CHUNK_BYTES: Final = 64 * 1024
SETTLED_S: Final = 2.0
#: Status codes of temporary errors of the server. An earlier version of the program may be used.
PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NOT_MODIFIED: Final = 304


class _Hop:
    """One request on the way to the file. Only the source's own server gets the source's user and password."""

    def __init__(self, url: SplitResult, user: str) -> None:
        self.url = url
        self.user = user

    @property
    def place(self) -> str:
        """The URL that a mark belongs to, without the query, which may have a new signature each time."""
        host, port = self.url.hostname or "", self.url.port
        return f"{self.url.scheme}://{host}{f':{port}' if port else ''}{self.url.path}"

    def next(self, location: str | None) -> "_Hop":
        here = self.url._replace(
            netloc=self.url.netloc.rpartition("@")[2]
        )  # The location is joined to it unchanged.
        target = None if location is None else _split(here.geturl(), location)
        if target is None:
            raise Unfit("it is redirected to an address that is neither http nor https")
        if here.scheme == "https" and target.scheme == "http":
            raise Unfit("it is redirected from https to http, where the transfer can be tampered with")
        same = (target.scheme, target.netloc) == (here.scheme, here.netloc)
        return _Hop(target, self.user if same else "")


def fetch_from_web(
    source: Source, into: Path, known: Mark | None, rules: Rules, patience: Patience
) -> Fetched | None:
    """Write the content of the URL into the file. None if the server reports no change since ``known``.

    Away if the server cannot be reached or has a temporary error. Unfit if it answers that the file does not exist.
    """
    url = urlsplit(source.place)
    hop = _Hop(url, url.netloc.rpartition("@")[0])
    for _ in range(REDIRECTS_MAX + 1):
        with _answer(hop, known, rules, patience) as answer:
            if answer.status == _NOT_MODIFIED and known is not None:
                return None
            if answer.status in _REDIRECTS:
                hop = hop.next(answer.getheader("Location"))
                continue
            if answer.status != HTTPStatus.OK:
                raise (Away if answer.status in PASSING else Unfit)(_status(answer))
            digest = _save(answer, into, rules, patience)
            return Fetched(path=into, sha256=digest, mark=_mark(answer, hop.place))
    raise Unfit(f"it is redirected more than {REDIRECTS_MAX} times")


@contextmanager
def _answer(
    hop: _Hop, known: Mark | None, rules: Rules, patience: Patience
) -> Iterator[http.client.HTTPResponse]:
    url = hop.url
    host = (url.hostname or "").rstrip(".").encode("idna").decode()
    port = url.port or (443 if url.scheme == "https" else 80)
    connection = http.client.HTTPConnection(host, port)
    wire = connect(host, port, rules.hosts, patience)
    try:
        if url.scheme == "https":
            wire.encrypt(host, ssl.create_default_context())
        connection.sock = wire  # A wire has all methods that it calls on a socket.
        target = quote(url.path or "/", safe="/%:@!$&'()*+,;=~-._") + (f"?{_query(url)}" if url.query else "")
        connection.request("GET", target, headers=_headers(hop, known, host, port))
        yield connection.getresponse()
    except ssl.SSLCertVerificationError as error:
        raise Unfit(f"the host {host} cannot be trusted: {one_line(error.verify_message)}") from None
    except http.client.HTTPException as error:
        raise Away(f"the host {host} does not speak HTTP: {type(error).__name__}") from None
    except OSError as error:
        raise Away(f"the connection to {host} was lost: {reason_of(error)}") from None
    finally:
        connection.close()
        wire.cut()


def _headers(hop: _Hop, known: Mark | None, host: str, port: int) -> dict[str, str]:
    bare = f"[{host}]" if ":" in host else host
    usual = port == (443 if hop.url.scheme == "https" else 80)
    headers = {
        "Host": bare if usual else f"{bare}:{port}",
        "User-Agent": "sluice",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Connection": "close",
    }
    if hop.user:
        headers["Authorization"] = "Basic " + base64.b64encode(unquote(hop.user).encode()).decode()
    if known is not None and known.url == hop.place:
        if known.etag:
            headers["If-None-Match"] = known.etag
        elif known.modified:
            headers["If-Modified-Since"] = known.modified
    return headers


def _save(answer: http.client.HTTPResponse, into: Path, rules: Rules, patience: Patience) -> str:
    """Save the content and return its sha256. All received bytes are counted, whatever length the server announces."""
    announced = answer.length
    if announced is not None and announced > rules.bytes_max:
        raise Unfit(f"it has {announced} bytes, more than the {rules.bytes_max} that are allowed")
    with Spool(into, rules.bytes_max) as spool:
        while chunk := answer.read1(CHUNK_BYTES):
            patience.check()
            spool.add(chunk)
    if announced is not None and spool.size < announced:
        raise Away(f"the connection ended after {spool.size} of {announced} bytes")
    return spool.sha256


def _mark(answer: http.client.HTTPResponse, url: str) -> Mark:
    """Return the mark. A modification date without an ETag has whole seconds, so a recent one may hide another
    change.
    """
    etag, modified = (_plain(answer.getheader(name)) for name in ("ETag", "Last-Modified"))
    try:
        age = parsedate_to_datetime(answer.getheader("Date") or "") - parsedate_to_datetime(modified)
        settled = age.total_seconds() >= SETTLED_S
    except (ValueError, TypeError, IndexError, OverflowError):
        settled = False
    return Mark(etag=etag, modified=modified if settled else "", url=url)


def _plain(text: str | None) -> str:
    """Return a header that can be sent back unchanged. Empty if it is missing or has other characters."""
    return text if text is not None and text.isascii() and text.isprintable() else ""


def _split(here: str, location: str) -> SplitResult | None:
    """Return the target of a redirect, or None if it is no usable URL. The header's bytes arrive decoded as Latin-1."""
    try:
        text = urljoin(here, location.encode("latin-1", "replace").decode("utf-8", "replace"))
        url = urlsplit(text)
        (url.hostname or "").encode("idna")
        usable = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
    except ValueError:
        return None
    return url if usable and text.isprintable() else None


def _query(url: SplitResult) -> str:
    return quote(url.query, safe="/%:@!$&'()*+,;=~-._?[]")


def _status(answer: http.client.HTTPResponse) -> str:
    try:
        return f"{answer.status} {HTTPStatus(answer.status).phrase}"
    except ValueError:
        return one_line(f"{answer.status} {answer.reason}", 80)
