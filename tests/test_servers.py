"""Where tests find a server: given, on loopback, or started for them; and what is said where they find none."""

import pytest
import redis

from tests import private_servers, servers

NOWHERE = "redis://127.0.0.1:1"


@pytest.fixture(autouse=True)
def nothing_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "_REDIS_ON_LOOPBACK", NOWHERE)
    monkeypatch.delenv("SLUICE_TEST_REDIS_URL", raising=False)


def test_where_nothing_is_given_and_nothing_listens_a_server_is_started() -> None:
    with servers.redis_url() as url, redis.Redis.from_url(url) as client:
        assert client.dbsize() == 0


def test_on_a_server_that_others_use_each_has_an_empty_database_and_leaves_it_empty(
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


def test_where_none_can_be_had_one_line_names_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_servers, "PATH", "/nowhere")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    monkeypatch.setenv("CI", "false")
    with pytest.raises(pytest.skip.Exception, match="start Docker, or set SLUICE_TEST_REDIS_URL"):
        servers.redis_url().__enter__()
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="start Docker, or set SLUICE_TEST_REDIS_URL"):
        servers.redis_url().__enter__()
