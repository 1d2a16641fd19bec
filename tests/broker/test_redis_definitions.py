"""Definitions that are stored in Redis: each form, and each error, which never shows the password."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import redis

from sluice.broker.redis.definitions import fetch
from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.errors import DefinitionError
from tests.jobs.catalogue.sources import JSON
from tests.servers import redis_url

PARENT = {"bash_cmd": "echo {n}"}
CHILD = {"depends_on": {"app_name": ["p"]}, "autofill_values": {"n": "10:20:2"}, "max_fails": 2}
HASH = {"default_job_id": '"{day}_{n}"', "p": json.dumps(PARENT), "c": json.dumps(CHILD)}
#: Name of a key, with special characters.
STRANGE = "team a/apps?#@%2F.json"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with redis_url() as url:
        yield url


@pytest.fixture
def client(server: str) -> Iterator[redis.Redis]:
    """Yield a client and delete all new keys afterwards. Other keys stay, because a test run marks its database."""
    with redis.Redis.from_url(server) as made:
        before = set(made.keys())
        yield made
        for key in set(made.keys()) - before:
            made.delete(key)


def catalogue(*sources: str) -> Catalogue:
    return load(sources, fetch=fetch)


def faults(source: str) -> list[tuple[str, str, str]]:
    with pytest.raises(DefinitionError) as caught:
        catalogue(source)
    assert "secret" not in caught.value.what
    return [(fault.source, fault.app, fault.what) for fault in caught.value.faults]


def _check(catalogue: Catalogue, origin: str) -> None:
    assert {*catalogue} == {"p", "c"}
    child = catalogue.app("c")
    assert (child.template.names, child.policy.max_fails, child.origin) == (("day", "n"), 2, origin)
    assert [*child.autofill["n"]] == [10, 12, 14, 16, 18]
    assert catalogue.app("p").bash_cmd == "echo {n}"


def test_a_redis_string_has_the_content_of_a_definition_file(server: str, client: redis.Redis) -> None:
    client.set("apps", JSON)
    _check(catalogue(f"{server}/apps"), f"{server}/apps")


def test_a_redis_hash_has_a_text_for_each_app(server: str, client: redis.Redis) -> None:
    client.hset("apps", mapping=HASH)
    _check(catalogue(f"{server}/apps"), f"{server}/apps")


def test_both_forms_result_in_the_same_definitions(server: str, client: redis.Redis) -> None:
    client.set("text", JSON)
    client.hset("hash", mapping=HASH)
    text, of_hash = catalogue(f"{server}/text"), catalogue(f"{server}/hash")
    assert {name: app.digest for name, app in text.items()} == {
        name: app.digest for name, app in of_hash.items()
    }


def test_apps_in_redis_and_in_files_can_depend_on_each_other(
    server: str, client: redis.Redis, tmp_path: Path
) -> None:
    client.hset("apps", mapping={"p": '{"job_id": "{day}"}'})
    (tmp_path / "c.json").write_text('{"c": {"job_id": "{day}", "depends_on": {"app_name": ["p"]}}}')
    assert catalogue(f"{server}/apps", str(tmp_path / "c.json")).children_of("p") == ("c",)


def test_a_key_may_have_any_name(server: str, client: redis.Redis) -> None:
    client.set(STRANGE, JSON)
    _check(catalogue(f"{server}/{quote(STRANGE)}"), f"{server}/{quote(STRANGE)}")
    client.set("a/b/c", JSON)
    _check(catalogue(f"{server}/a/b/c"), f"{server}/a/b/c")


def test_user_and_password_are_used_and_never_shown(server: str, client: redis.Redis) -> None:
    client.set("apps", JSON)
    client.acl_setuser("sluice-reader", enabled=True, passwords=["+s/ecret?"], keys=["*"], commands=["+@all"])
    try:
        address = f"{server}/apps".replace("://", f"://sluice-reader:{quote('s/ecret?', safe='')}@")
        _check(catalogue(address), f"{server}/apps")
    finally:
        client.acl_deluser("sluice-reader")
    ((source, _, what),) = faults(address)
    assert source == f"{server}/apps"
    assert what == "Redis does not know the user or the password; correct the address"


def test_a_default_in_a_hash_that_is_no_text_is_an_error(server: str, client: redis.Redis) -> None:
    client.hset("apps", mapping={"default_job_id": "7", "p": '{"job_id": "{n}"}'})
    ((_, _, what),) = faults(f"{server}/apps")
    assert "default_job_id: 7 is not a text" in what


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"a": {\n"job_id": }}', "line 2, column 11: not JSON"),
        ('{"a": {}, "a": {}}', "'a' is written twice in one mapping"),
        ("[]", "the text holds a list; it has to be a mapping"),
        ("null", "the text holds nothing"),
        ("", "line 1, column 1: not JSON"),
        (b'{"\xe4": {}}', "the text is not UTF-8 at byte 2"),
        ("[" * 100_000, "it nests too deeply"),
    ],
)
def test_an_unreadable_text_is_an_error(
    server: str, client: redis.Redis, text: str | bytes, words: str
) -> None:
    client.set("apps", text)
    ((source, app, what),) = faults(f"{server}/apps")
    assert (source, app) == (f"{server}/apps", "")
    assert words in what


def test_every_faulty_field_is_reported(server: str, client: redis.Redis) -> None:
    fields = {
        "a": '{"job_id": }',
        "b": '{"job_id": "{n}", "job_id": "{m}"}',
        "c": '"{n}"',
        "d": '{"job_id": "{n}", "max_fail": 1}',
        "e": '{"job_id": "{n}"}',
    }
    client.hset("apps", mapping=fields)
    assert [(app, what) for _, app, what in faults(f"{server}/apps")] == [
        ("", "a: line 1, column 12: not JSON: Expecting value"),
        ("", "b: 'job_id' is written twice in one mapping"),
        ("c", "an app is a mapping of options; this is '{n}'"),
        ("d", "unknown option 'max_fail' (did you mean max_fails?)"),
    ]


def test_a_key_that_is_missing_or_of_another_type_is_an_error(server: str, client: redis.Redis) -> None:
    client.rpush("list", "{}")
    assert "there is no such key" in faults(f"{server}/apps")[0][2]
    assert "the key holds a list" in faults(f"{server}/list")[0][2]


ADDRESSES = {
    "no host": ("redis:///0/apps", "it names no host"),
    "no key": ("redis://u:secret@host/0", "it names no key"),
    "an empty key": ("redis://u:secret@host/0/", "it names no key"),
    "no database": ("redis://u:secret@host/apps/all", "its database is no number"),
    "no port": ("redis://u:secret@host:port/0/apps", "its host or port cannot be read"),
    "a slash in the password": ("redis://u:secret/1@host/0/apps", "its host or port cannot be read"),
    "digits before a slash": ("redis://u:1/secret@host/0/apps", "its database is no number"),
    "no end of an IPv6 address": ("redis://u:secret@[::1/0/apps", "its host or port cannot be read"),
    "a fragment": ("redis://u:secret@host/0/apps#1", "write %23"),
    "an unknown option": ("redis://u:secret@host/0/apps?colour=red", "its options cannot be used"),
    "a wrong option": ("rediss://u:secret@host/0/apps?socket_timeout=secret", "'socket_timeout'"),
    "another scheme": ("ftp://u:secret@host/0/apps", "definitions are not read from ftp://"),
    "nobody at home": ("redis://u:secret@127.0.0.1:1/0/apps", "Redis does not answer: "),
}


@pytest.mark.parametrize(("address", "words"), ADDRESSES.values(), ids=ADDRESSES)
def test_an_unusable_address_is_an_error(address: str, words: str) -> None:
    ((source, app, what),) = faults(address)
    assert app == ""
    assert source.startswith(address.partition(":")[0])
    assert words in what


def test_a_database_that_the_server_does_not_have_is_an_error(server: str) -> None:
    place, _, _ = server.rpartition("/")
    assert "Redis refuses: DB index is out of range" in faults(f"{place}/9999/apps")[0][2]
