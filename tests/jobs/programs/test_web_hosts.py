"""Machines from which a program may be fetched."""

import socket
from contextlib import ExitStack

import pytest

from sluice.jobs.programs.fetch.allowed_hosts import is_public
from tests.jobs.programs.archives import archive
from tests.jobs.programs.shop import NOT_PUBLIC, Shop
from tests.jobs.programs.web_server import WebServer

ZIP = archive("zip")
PRIVATE = [
    *("127.0.0.1", "127.1.2.3", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
    *("0.0.0.0", "224.0.0.1", "239.1.2.3", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1"),
    *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "ff0e::1", "2001:db8::1"),
    *(
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
    ),
    *("fec0::1", "feff::1", "fec0::1%eth0", "3fff::1", "192.0.0.8", "192.0.0.192", "::ffff:192.0.0.192"),
    *("168.63.129.16", "::ffff:168.63.129.16", "192.88.99.1", "2001:20::1", "2001:2f:ffff::1"),
    *("2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:127.0.0.1"),
    "no address",
]
PUBLIC = [
    "8.8.8.8",
    "93.184.216.34",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2606:4700::5efe:8.8.8.8",
]


@pytest.mark.parametrize("address", [*PRIVATE, *PUBLIC])
def test_private_and_reserved_addresses_are_not_public(address: str) -> None:
    assert is_public(address) == (address in PUBLIC)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "0", "2130706433", "127.1", "0x7f.1", "[::ffff:127.0.0.1]"]
)
def test_this_machine_is_reached_only_if_the_setting_names_it(shop: Shop, web: WebServer, host: str) -> None:
    web.put("/a.zip", ZIP)
    source = f"http://{host}:{web.port}/a.zip"
    assert "is not an address of the public internet" in shop.refusal(source, hosts=())
    refused = shop.refusal(source, hosts=("elsewhere",))
    assert f"the address of the host {host.strip('[]')} is not an address of the public internet" in refused
    assert host == "127.0.0.1" or "127.0.0.1" not in refused.replace(host.strip("[]"), "")
    assert web.asked == []


@pytest.mark.parametrize("hosts", [("*",), ("LOCALHOST.",), ("other", "localhost")])
def test_a_host_that_the_setting_names_may_have_any_address(
    shop: Shop, web: WebServer, hosts: tuple[str, ...]
) -> None:
    web.put("/a.zip", ZIP)
    assert shop.run(f"http://localhost:{web.port}/a.zip", hosts=hosts) == "ran\n"


def test_a_host_name_is_resolved_once_even_if_its_address_changes(
    shop: Shop, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection is made to the address that was checked."""
    web.put("/a.zip", ZIP)
    answers = iter(["93.184.216.34", "127.0.0.1", "127.0.0.1"])
    reached: list[str] = []

    def resolve(host: str, port: int, **_: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def reach(_connection: object, address: str, *_: object) -> None:
        reached.append(address)
        raise OSError(113, "No route to host")

    monkeypatch.setattr("socket.getaddrinfo", resolve)
    monkeypatch.setattr("sluice.jobs.programs.fetch.http_fetch._reach", reach)
    shop.refuses(
        f"http://rebind.example:{web.port}/a.zip",
        "the host rebind.example does not answer: No route to host",
    )
    assert reached == ["93.184.216.34"]


def test_the_address_of_the_connection_is_also_checked(
    shop: Shop, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.put("/a.zip", ZIP)
    monkeypatch.setattr(
        "sluice.jobs.programs.fetch.http_fetch.addresses_of", lambda *_: [(socket.AF_INET, "127.0.0.1")]
    )
    shop.refuses(
        f"http://rebind.example:{web.port}/a.zip",
        NOT_PUBLIC.format("rebind.example"),
    )
    assert web.asked == []


def test_one_private_address_among_others_is_enough_to_refuse(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(socket.AF_INET, 1, 6, "", (text, 80)) for text in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: found)
    shop.refuses("http://both.example/a.zip", NOT_PUBLIC.format("both.example"))


def test_the_next_address_is_tried_if_one_does_not_answer(
    shop: Shop, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.put("/a.zip", ZIP)
    addresses = [(socket.AF_INET, "127.0.0.2"), (socket.AF_INET, "127.0.0.1")]
    monkeypatch.setattr("sluice.jobs.programs.fetch.http_fetch.addresses_of", lambda *_: addresses)
    monkeypatch.setattr("sluice.jobs.programs.fetch.http_fetch.CONNECT_S", 0.2)
    with ExitStack() as full:
        try:
            silent = full.enter_context(socket.create_server(("127.0.0.2", web.port), backlog=0))
        except OSError:
            pytest.skip("this machine has one loopback address only")
        for _ in range(4):  # Its queue is full, so a new connection gets no answer.
            waiting = full.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(silent.getsockname())
        assert shop.run(f"http://twice.example:{web.port}/a.zip", hosts=("*",)) == "ran\n"


def test_the_next_address_is_tried_if_an_address_family_is_unsupported(
    shop: Shop, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, unknown = web.put("/a.zip", ZIP), (9999, "::1")
    monkeypatch.setattr("sluice.jobs.programs.fetch.http_fetch.addresses_of", lambda *_: [unknown])
    shop.refuses(source, "the host 127.0.0.1 does not answer: Address family not supported by protocol")
    addresses = [unknown, (socket.AF_INET, "127.0.0.1")]
    monkeypatch.setattr("sluice.jobs.programs.fetch.http_fetch.addresses_of", lambda *_: addresses)
    assert shop.run(source) == "ran\n"
