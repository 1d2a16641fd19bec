"""Programs from a web server, which may be slow, lost, moved or hostile."""

import base64
import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler

import pytest

from sluice.jobs.programs.errors import FetchStopped
from tests.jobs.programs.archives import archive
from tests.jobs.programs.shop import NOT_PUBLIC, Shop, digest_of
from tests.jobs.programs.web_server import Handler, Reply, WebServer

ZIP = archive("zip")

STATUSES = {
    404: "404 Not Found",
    410: "410 Gone",
    401: "401 Unauthorized",
    403: "403 Forbidden",
    500: "500 Internal Server Error",
    503: "503 Service Unavailable",
    206: "206 Partial Content",
    299: "299",
    304: "304 Not Modified",
}


@pytest.mark.parametrize("status", STATUSES)
def test_an_unexpected_status_of_the_server_is_in_the_error(shop: Shop, web: WebServer, status: int) -> None:
    source = web.put("/a.zip", ZIP, status=status)
    shop.refuses(source, STATUSES[status])
    assert len(web.asked) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_followed(shop: Shop, web: WebServer, status: int) -> None:
    web.put("/store/7?key=x", ZIP)
    source = web.put("/a.zip", status=status, headers=(("Location", "/store/7?key=x"),))
    assert shop.run(source) == "ran\n"
    assert [asked.path for asked in web.asked] == ["/a.zip", "/store/7?key=x"]


def test_the_number_of_redirects_is_limited(shop: Shop, web: WebServer) -> None:
    for number in range(5):
        web.put(f"/{number}.zip", status=302, headers=(("Location", f"/{number + 1}.zip"),))
    web.put("/5.zip", ZIP)
    assert shop.run(f"{web.url}/0.zip") == "ran\n"
    source = web.put("/again.zip", status=302, headers=(("Location", "/0.zip"),))
    shop.refuses(source, "it is redirected more than 5 times")


BAD_REDIRECTS = {
    "file:///etc/passwd": "it is redirected to an address that is neither http nor https",
    "ftp://127.0.0.1/a.zip": "it is redirected to an address that is neither http nor https",
    "http://127.0.0.1:99999/a.zip": "it is redirected to an address that is neither http nor https",
    "http://[bad/a.zip": "it is redirected to an address that is neither http nor https",
    "http://:80/a.zip": "it is redirected to an address that is neither http nor https",
    "http://localhost:1/a.zip": NOT_PUBLIC.format("localhost"),
    "http://169.254.169.254/latest": NOT_PUBLIC.format("169.254.169.254"),
}


@pytest.mark.parametrize("location", BAD_REDIRECTS)
def test_redirects_lead_only_to_web_addresses_and_allowed_hosts(
    shop: Shop, web: WebServer, location: str
) -> None:
    source = web.put("/a.zip", status=302, headers=(("Location", location),))
    why = BAD_REDIRECTS[location]
    line = shop.refusal(source)
    assert line.replace("::1", "127.0.0.1") == f"could not fetch program 'prog' from {source}: {why}"


def test_a_redirect_without_a_location_is_an_error(shop: Shop, web: WebServer) -> None:
    shop.refuses(
        web.put("/a.zip", status=302), "it is redirected to an address that is neither http nor https"
    )


def test_a_closed_port_and_an_unknown_host_are_reported(shop: Shop, web: WebServer) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        source = f"http://127.0.0.1:{taken.getsockname()[1]}/a.zip"
        shop.refuses(source, "the host 127.0.0.1 does not answer: Connection refused")
    assert "the host no-such-name.invalid cannot be resolved: " in shop.refusal(
        "http://no-such-name.invalid/a.zip"
    )


def _hang(web: WebServer) -> Reply:
    return Reply(ZIP[:20], length=len(ZIP), then=web.hang)


def _drip(web: WebServer) -> Reply:
    return Reply(ZIP[:20], length=10**8, then=web.drip)


def _silence(web: WebServer) -> Reply:
    web.closing.wait()
    return Reply()


def _drip_of_headers(web: WebServer) -> Reply:
    return Reply(headers=(("X", "y" * 1000),), length=-1, then=web.drip)


SLOW = [_hang, _drip, _silence, _drip_of_headers]


@pytest.mark.parametrize("reply", SLOW)
def test_a_fetch_from_a_slow_server_times_out(
    shop: Shop, web: WebServer, reply: Callable[[WebServer], Reply], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "reply", lambda *_: reply(web))
    shop.refuses(f"{web.url}/a.zip", "it took longer than 0.5 s", fetch_timeout_s=0.5)


@pytest.mark.parametrize("reply", SLOW)
def test_a_stop_ends_a_fetch_from_a_slow_server(
    shop: Shop, web: WebServer, reply: Callable[[WebServer], Reply], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "reply", lambda *_: reply(web))

    def stop_once_asked() -> None:
        while not web.asked:
            time.sleep(0.01)
        shop.stop.set()

    threading.Thread(target=stop_once_asked, daemon=True).start()
    with pytest.raises(FetchStopped, match=r"^fetching program 'prog' from \S+ was stopped$"):
        shop.run(f"{web.url}/a.zip", fetch_timeout_s=3600)
    assert shop.leftovers() == []


def test_a_stop_ends_the_resolution_of_a_host_name(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, over = threading.Event(), threading.Event()

    def resolve(*_: object, **__: object) -> list[object]:
        asked.set()
        shop.stop.set()
        over.wait()
        return []

    monkeypatch.setattr("socket.getaddrinfo", resolve)
    with pytest.raises(FetchStopped):
        shop.run("http://slow.example/a.zip", fetch_timeout_s=3600)
    over.set()
    assert asked.is_set()


def test_a_response_above_the_size_limit_is_refused(shop: Shop, web: WebServer) -> None:
    big = bytes(5000)
    shop.refuses(
        web.put("/a.zip", big), "it has 5000 bytes, more than the 4999 that are allowed", bytes_max=4999
    )
    endless = web.put("/b.zip", big, length=-1, then=web.drip)
    shop.refuses(endless, "it has more than the 4999 bytes that are allowed", bytes_max=4999)
    assert shop.run(web.put("/c.zip", ZIP), bytes_max=len(ZIP)) == "ran\n"


def _cut(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def test_an_incomplete_response_is_an_error(shop: Shop, web: WebServer) -> None:
    size = len(ZIP)
    source = web.put("/a.zip", ZIP, length=size + 9, then=_cut)
    shop.refuses(source, f"the connection ended after {size} of {size + 9} bytes")
    chunked = web.put(
        "/b.zip", b"fff\r\nonly this", headers=(("Transfer-Encoding", "chunked"),), length=-1, then=_cut
    )
    shop.refuses(chunked, "the host 127.0.0.1 does not speak HTTP: IncompleteRead")


def test_a_server_that_does_not_speak_http_is_an_error(
    shop: Shop, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Handler, "do_GET", lambda self: self.wfile.write(b"220 ftp ready\r\n\r\n"))
    shop.refuses(f"{web.url}/a.zip", "the host 127.0.0.1 does not speak HTTP: BadStatusLine")


def test_an_https_source_on_a_server_without_tls_is_an_error(shop: Shop, web: WebServer) -> None:
    assert "the connection to 127.0.0.1 was lost: " in shop.refusal(f"https://127.0.0.1:{web.port}/a.zip")


def test_a_password_is_sent_only_to_its_own_server(shop: Shop, web: WebServer) -> None:
    with WebServer() as other:
        target = other.put("/b.zip", ZIP)
        web.put("/a.zip", status=302, headers=(("Location", target),))
        source = f"http://me:s%40cret@127.0.0.1:{web.port}/a.zip?token=s%40cret"
        assert shop.run(source) == "ran\n"
        assert web.asked[0].headers["authorization"] == "Basic " + base64.b64encode(b"me:s@cret").decode()
        assert "authorization" not in other.asked[0].headers
    refusal = shop.refusal(source.replace("a.zip", "gone.zip"))
    assert (
        refusal
        == f"could not fetch program 'prog' from http://***@127.0.0.1:{web.port}/gone.zip?***: 404 Not Found"
    )
    kept = b"".join(path.read_bytes() for path in shop.folder.rglob("*") if path.is_file())
    for secret in (b"s@cret", b"s%40cret"):
        assert secret not in kept + "\n".join(shop.said).encode()


@pytest.mark.parametrize(
    "location", ["/b.zip", "b.zip", "//127.0.0.1:{port}/b.zip", "http://127.0.0.1:{port}/b.zip"]
)
def test_a_redirect_to_the_same_server_gets_the_password_again(
    shop: Shop, web: WebServer, location: str
) -> None:
    web.put("/b.zip", ZIP)
    web.put("/a.zip", status=302, headers=(("Location", location.format(port=web.port)),))
    assert shop.run(f"http://me:secret@127.0.0.1:{web.port}/a.zip") == "ran\n"
    told = "Basic " + base64.b64encode(b"me:secret").decode()
    assert [asked.headers.get("authorization") for asked in web.asked] == [told, told]


def test_a_digest_is_compared_before_anything_is_unpacked(shop: Shop, web: WebServer) -> None:
    source, right, wrong = web.put("/a.zip", ZIP), digest_of(ZIP), "0" * 64
    assert shop.refusal(source, wrong) == (
        f"program 'prog' from {source} has the sha256 {right}, not {wrong} as requested"
    )
    assert shop.versions() == []
    assert shop.run(source, right.upper()) == "ran\n"
    assert shop.refusal(source, "abc") == "'abc' is not a sha256, which has 64 hexadecimal digits"
