"""Programs from a web server with a certificate."""

import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.programs.archives import archive
from tests.jobs.programs.installed import need
from tests.jobs.programs.shop import Shop
from tests.jobs.programs.web_server import WebServer

ZIP = archive("zip")


@pytest.fixture
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file that has a key and a certificate of 127.0.0.1."""
    need("openssl")
    folder = tmp_path_factory.mktemp("tls")
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=here -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        ["openssl", *words.split(), "-keyout", "key.pem", "-out", "cert.pem"],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    (folder / "both.pem").write_text((folder / "key.pem").read_text() + (folder / "cert.pem").read_text())
    return folder / "both.pem"


@pytest.fixture
def safe_web(certificate: Path) -> Iterator[WebServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with WebServer(context) as server:
        yield server


def test_a_program_is_fetched_from_a_trusted_server(
    shop: Shop, safe_web: WebServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert shop.run(safe_web.put("/a.zip", ZIP)) == "ran\n"
    assert safe_web.url.startswith("https://")


def test_a_server_that_is_not_trusted_is_refused(shop: Shop, safe_web: WebServer) -> None:
    line = shop.refusal(safe_web.put("/a.zip", ZIP))
    assert "the host 127.0.0.1 cannot be trusted: self" in line
    assert safe_web.asked == []


def test_a_certificate_for_another_name_is_refused(
    shop: Shop, safe_web: WebServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    source = f"https://localhost:{safe_web.port}/a.zip"
    assert "the host localhost cannot be trusted: " in shop.refusal(source, hosts=("*",))


def test_a_redirect_from_https_to_http_is_refused(
    shop: Shop, safe_web: WebServer, web: WebServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    target = web.put("/b.zip", ZIP)
    source = safe_web.put("/a.zip", status=302, headers=(("Location", target),))
    shop.refuses(source, "it is redirected from https to http, where the transfer can be tampered with")
    assert web.asked == []


def test_a_server_that_is_silent_during_the_tls_handshake_times_out(shop: Shop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        source = f"https://127.0.0.1:{silent.getsockname()[1]}/a.zip"
        shop.refuses(source, "it took longer than 0.5 s", fetch_timeout_s=0.5)
