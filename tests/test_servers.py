"""Servers for tests: given, on loopback, or started. A missing one is reported."""

import pytest
import redis

from tests import private_servers, servers

NOWHERE = "redis://127.0.0.1:1"


@pytest.fixture(autouse=True)
def nothing_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_REDIS_ON_LOOPBACK", NOWHERE)
    monkeypatch.delenv("SLUICE_TEST_REDIS_URL", raising=False)


def test_a_server_is_started_if_none_is_given_and_none_listens() -> None:
    with servers.redis_url() as url, redis.Redis.from_url(url) as client:
        assert client.dbsize() == 0


def test_each_user_of_a_shared_server_gets_and_leaves_an_empty_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with private_servers.redis() as server:
        monkeypatch.setenv("SLUICE_TEST_REDIS_URL", server.url.removesuffix("/0"))
        with servers.redis_url() as one, servers.redis_url() as two:
            assert one != two
            with redis.Redis.from_url(one) as client:
                client.set("key", "ours")
        with redis.Redis.from_url(one) as client:
            assert client.info("keyspace") == {}


def test_a_database_that_was_emptied_stays_reserved(monkeypatch: pytest.MonkeyPatch) -> None:
    with private_servers.redis() as server:
        monkeypatch.setenv("SLUICE_TEST_REDIS_URL", server.url.removesuffix("/0"))
        with servers.redis_url() as one, redis.Redis.from_url(one) as client:
            client.set("key", "ours")
            servers.empty_database(client)
            assert not client.exists("key")
            with servers.redis_url() as two:
                assert one != two


def test_a_missing_server_is_reported_with_every_way_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_servers, "PATH", "/nowhere")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("CI", "false")
    with pytest.raises(pytest.skip.Exception, match="start Docker, or set SLUICE_TEST_REDIS_URL"):
        servers.redis_url().__enter__()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="start Docker, or set SLUICE_TEST_REDIS_URL"):
        servers.redis_url().__enter__()
