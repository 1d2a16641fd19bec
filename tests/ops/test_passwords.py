"""Passwords in kwargs, commands and sources of a job: no command prints them and no log contains them."""

import json
from typing import Any

from tests.ops.site import WORDS, Site
from tests.ops.typist import Typist

SECRET = "s3cr3t"
URL = f"https://me:{SECRET}@host.example/data?page=3"


def _given(**words: Any) -> dict[str, Any]:
    return {"kwargs": {"address": URL, "nested": {"all": [URL, 7]}, **words}}


def test_no_command_prints_a_password_in_kwargs(site: Site) -> None:
    pooled = {"concurrency": {"key": "{kwargs.address}", "limit": 1}}
    site.define({"a": WORDS | pooled, "b": WORDS | {"depends_on": {"app_name": ["a"]}}})
    site.world.submit("a", **_given())
    site.world.submit("b", "2", **_given())
    assert site.world.claim("a") is not None
    shown = site.says("show", "a", "1")
    address = "https://***@host.example/data?page=3"
    assert shown["kwargs"] == {"address": address, "nested": {"all": [address, 7]}}
    assert shown["pool"] == f"a:{address}"
    documents = [
        shown,
        site.says("show", "a", "2"),
        site.says("ls"),
        site.why("a/2"),
        site.why("b/2"),
        site.says("workers"),
        site.says("submissions"),
        site.says("logs", "a", "1"),
        site.says("plan", "b", "3", "--kwargs", json.dumps(_given()["kwargs"])),
        site.says("graph"),
    ]
    pages = [site.in_words(job, command) for job in ("a/2", "b/2") for command in ("show", "why")]
    assert [pool["waiting_for_slot"] for worker in site.says("workers") for pool in worker["pools"]] == [1]
    assert "kwargs " in pages[0]
    assert address in pages[0]
    assert f"the pool of a:{address} is full" in pages[1]
    assert SECRET not in json.dumps(documents) + "".join(pages)


def test_the_job_gets_its_kwargs_unmasked(site: Site) -> None:
    site.define({"a": WORDS})
    site.world.submit("a", **_given())
    claimed = site.world.claim("a")
    assert claimed is not None
    assert claimed.kwargs == _given()["kwargs"]


def test_a_handle_is_shown_without_its_password(site: Site) -> None:
    site.define({"a": WORDS})
    site.world.submit("a")
    site.world.ledger.transact(
        lambda tx: tx.write("UPDATE job SET handle = %(handle)s", handle=json.dumps(URL))
    )
    assert site.says("show", "a", "1")["handle"] == "https://***@host.example/data?page=3"
    assert SECRET not in site.in_words("a", "show")


def test_an_app_is_shown_without_passwords_of_its_command_and_dependencies(desk: Typist) -> None:
    desk.apps(
        "passwords.json",
        {
            "a": {"job_id": "{n}", "bash_cmd": f"echo {URL}"},
            "b": {"chunk_size": 1, "bash_cmd": "true"},
            "c": {
                "chunk_size": 1,
                "bash_cmd": "true",
                "dependencies": [{"job_type": "b", "max_lag": 0, "custom_kwargs": {"address": URL}}],
            },
        },
    )
    told = "".join(
        desk.types("--apps", "passwords.json", *words).out
        for app in "ac"
        for words in (["apps", "show", app], ["apps", "show", app, "--json"])
    )
    assert told.count("***@host.example/data") == 4
    assert SECRET not in told
    planned = desk.types(
        "--apps",
        "passwords.json",
        "plan",
        "c",
        "--work-ids",
        "1",
        "--json",
        "--kwargs",
        json.dumps({"x": URL}),
    )
    assert planned.code == 0, planned.err
    assert "***@host.example" in planned.out
    assert SECRET not in planned.out


def test_a_bad_source_is_refused_without_its_password(desk: Typist) -> None:
    desk.apps("fetching.json", {"fetching": {"job_id": "{n}", "job_type": "program", "max_fails": 0}})
    sources: list[Any] = [
        f"https://me:{SECRET}@127.0.0.1:1/a.zip?signature={SECRET}",
        f"https://me:{SECRET}@127.0.0.1:1/a.rar",
        f"rsync://me:{SECRET}@127.0.0.1/a.zip",
        [f"https://me:{SECRET}@127.0.0.1:1/a.zip"],
    ]
    told = []
    settings = {"SLUICE_APPS": "fetching.json", "SLUICE_PROGRAM_HOSTS": "127.0.0.1"}
    for number, source in enumerate(sources):
        kwargs = json.dumps({"source": source})
        told.append(desk.types("submit", "fetching", str(number), "--kwargs", kwargs, **settings))
    told.append(desk.types("up", "--drain", **settings))
    for number in map(str, range(len(sources))):
        for command in ("show", "why", "logs"):
            told.append(desk.types(command, "fetching", number, **settings))
        told.append(desk.types("show", "fetching", number, "--json", **settings))
        *_, once = told[-1].document["rounds"]
        assert once["ending"] == "error"
        assert "***@127.0.0.1" in once["error"]
    told.append(desk.types("logs", "--course", "fetching", "0", **settings))
    assert SECRET not in "".join(said.out + said.err for said in told)
