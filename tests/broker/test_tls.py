"""Brokers over TLS. Only a server with a valid certificate is used."""

import os
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from sluice.broker.address import weakness
from sluice.broker.connect import connect
from sluice.jobs.errors import Unreachable
from sluice.ledger.database.conninfo import weakness as ledger_weakness
from tests import private_servers
from tests.broker.conftest import parcel


class Papers(NamedTuple):
    """Certificate of a server for ``localhost``, its key, the authority that signed it, and another authority."""

    certificate: Path
    key: Path
    authority: Path
    stranger: Path


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("install openssl to have certificates made")
    folder = tmp_path_factory.mktemp("papers")
    new = [
        openssl,
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
    ]
    for name in ("authority", "stranger"):
        made = ["-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}"]
        subprocess.run([*new, *made], cwd=folder, check=True, capture_output=True)
    signed = [
        "-CA",
        "authority.pem",
        "-CAkey",
        "authority.key",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ]
    made = ["-keyout", "server.key", "-out", "server.pem", "-subj", "/CN=localhost"]
    named = ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*new, *made, *signed, *named], cwd=folder, check=True, capture_output=True)
    return Papers(*(folder / name for name in ("server.pem", "server.key", "authority.pem", "stranger.pem")))


@pytest.fixture(scope="module")
def rabbitmq_port(papers: Papers) -> Iterator[int]:
    port = private_servers.free_port()
    conf = [
        f"listeners.ssl.1 = 127.0.0.1:{port}",
        f"ssl_options.cacertfile = {papers.authority}",
        f"ssl_options.certfile = {papers.certificate}",
        f"ssl_options.keyfile = {papers.key}",
    ]
    with private_servers.rabbitmq(conf=conf):
        yield port


@pytest.fixture(scope="module")
def redis_port(papers: Papers) -> Iterator[int]:
    port = private_servers.free_port()
    words = ["--tls-port", str(port), "--tls-auth-clients", "no", "--tls-cert-file", str(papers.certificate)]
    words += ["--tls-key-file", str(papers.key), "--tls-ca-cert-file", str(papers.authority)]
    with private_servers.redis(conf=words):
        yield port


def _publishes(url: str) -> None:
    with closing(connect(url)) as broker:
        broker.ensure(["etl"])
        broker.publish(parcel("etl", 1))


def _rabbitmq(port: int, host: str, authority: Path) -> str:
    return f"amqps://guest:guest@{host}:{port}/%2F?ssl_options=" + str({"ca_certs": str(authority)})


def _redis(port: int, host: str, authority: Path) -> str:
    return f"rediss://{host}:{port}/0?ssl_ca_certs={authority}"


def test_rabbitmq_is_used_only_with_a_valid_certificate(rabbitmq_port: int, papers: Papers) -> None:
    _publishes(_rabbitmq(rabbitmq_port, "localhost", papers.authority))
    with pytest.raises(Unreachable, match=r"(?i)certificate|ssl|tls"):
        _publishes(_rabbitmq(rabbitmq_port, "localhost", papers.stranger))
    with pytest.raises(Unreachable, match=r"(?i)certificate|ssl|tls"):
        _publishes(_rabbitmq(rabbitmq_port, "127.0.0.1", papers.authority))
    if "SSL_CERT_FILE" not in os.environ:
        with pytest.raises(Unreachable, match=r"(?i)certificate|ssl|tls"):
            _publishes(f"amqps://guest:guest@localhost:{rabbitmq_port}/%2F")


def test_an_authority_from_the_environment_is_accepted_for_rabbitmq(
    rabbitmq_port: int, papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(papers.authority))
    _publishes(f"amqps://guest:guest@localhost:{rabbitmq_port}/%2F")


def test_redis_is_used_only_with_a_valid_certificate(redis_port: int, papers: Papers) -> None:
    _publishes(_redis(redis_port, "localhost", papers.authority))
    with pytest.raises(Unreachable, match=r"(?i)certificate"):
        _publishes(_redis(redis_port, "localhost", papers.stranger))
    with pytest.raises(Unreachable, match=r"(?i)certificate"):
        _publishes(_redis(redis_port, "127.0.0.1", papers.authority))
    with pytest.raises(Unreachable, match=r"(?i)certificate"):
        _publishes(f"rediss://localhost:{redis_port}/0")


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("memory://", ""),
        ("amqp://guest:guest@127.0.0.1", ""),
        ("amqp://localhost", ""),
        ("redis://[::1]:6379/0", ""),
        ("amqps://far", ""),
        ("rediss://far/0?ssl_ca_certs=ca.pem", ""),
        ("amqp://far", "amqp:// is plain text"),
        ("redis://10.0.0.7/0", "redis:// is plain text"),
        ("redis://localhost.far/0", "redis:// is plain text"),
        ("rediss://far/0?ssl_cert_reqs=none", "do not verify"),
        ("rediss://far/0?ssl_check_hostname=False", "any host"),
        ("rediss://far/0?ssl_check_hostname=F", "any host"),
        ("rediss://far/0?ssl_check_hostname=no", "any host"),
        ("rediss://far/0?ssl_check_hostname=yes", ""),
        ("rediss://far/0?ssl_cert_reqs=perhaps", "cannot be used"),
        ("rediss://far/0?colour=red", "cannot be used"),
        ("rediss://[far/0", ""),
    ],
)
def test_a_weak_connection_to_a_broker_is_detected_from_its_address(url: str, why: str) -> None:
    assert why in weakness(url)
    assert bool(why) == bool(weakness(url))


#: Numbers of the protocols, because an address can only contain numbers.
TLS, TLS_CLIENT = int(ssl.PROTOCOL_TLS), int(ssl.PROTOCOL_TLS_CLIENT)


@pytest.mark.filterwarnings("ignore:ssl.PROTOCOL_TLS is deprecated")
@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"ca_certs": "authority.pem"}, ""),
        ({"ca_certs": "authority.pem", "protocol": TLS_CLIENT}, ""),
        ({"ca_certs": "authority.pem", "protocol": TLS}, "do not verify"),
        ({"ca_certs": "nowhere.pem"}, "cannot be used"),
        ({}, "cannot be used"),
        ("no dictionary", "cannot be used"),
        (None, "cannot be used"),
    ],
)
def test_weak_tls_options_of_a_rabbitmq_address_are_detected(
    options: object, why: str, papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(papers.authority.parent)
    said = weakness(f"amqps://far/?ssl_options={options!r}")
    assert why in said
    assert bool(why) == bool(said)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("postgresql://sluice@127.0.0.1/sluice", ""),
        ("postgresql:///sluice?host=/run/postgresql", ""),
        ("postgresql://a,b/sluice?sslmode=verify-full", ""),
        ("postgresql://far/sluice", "sslmode is prefer"),
        ("postgresql://far/sluice?sslmode=require", "sslmode is require"),
        ("postgresql://127.0.0.1,far/sluice", "sslmode is prefer"),
        ("postgresql:///sluice?hostaddr=10.0.0.7&host=localhost", "sslmode is prefer"),
        ("this is no address", ""),
    ],
)
def test_a_weak_connection_to_the_ledger_is_detected_from_its_address(
    url: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGSSLMODE", "PGHOST", "PGHOSTADDR"):
        monkeypatch.delenv(name, raising=False)
    assert why in ledger_weakness(url)
    assert bool(why) == bool(ledger_weakness(url))


def test_the_sslmode_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "verify-full")
    assert ledger_weakness("postgresql://far/sluice") == ""
