"""A separate console, with definitions that are edited while it runs."""

import time
from typing import Any
from urllib.parse import quote

from tests.ops.caller import Caller, console
from tests.ops.typist import Typist

A = {"job_id": "{x}", "bash_cmd": "true"}


def test_a_console_uses_edited_definitions(desk_apart: Typist) -> None:
    _define(desk_apart, key="old", a=A)
    with console(desk_apart) as caller:
        assert _key_of_a_firing(caller) == "old"
        before = caller.reads("/api/overview")["definitions"]
        _define(desk_apart, key="new", a=A, b=A)
        _until_known(caller, "b")
        after = caller.reads("/api/overview")["definitions"]
        assert (before["problem"], after["problem"]) == (None, None)
        assert after["since"] > before["since"]
        assert _key_of_a_firing(caller) == "new"


def test_without_definitions_the_overview_has_no_queues(desk_apart: Typist) -> None:
    with console(desk_apart, SLUICE_APPS="") as caller:
        assert caller.reads("/api/overview")["queues"] == []


def _define(typist: Typist, *, key: str, **apps: Any) -> None:
    daily = {"app": "a", "key": key, "cron": "0 0 29 2 *", "rerun": "job"}
    typist.apps("apps.json", {**apps, "schedules": {"daily": daily}})


def _key_of_a_firing(caller: Caller) -> Any:
    told = caller.posts("/api/schedules/daily/fire")
    assert told.status == 200, told
    return caller.reads(f"/api/submissions/{quote(told.document['submission'])}")["key"]


def _until_known(caller: Caller, app: str) -> None:
    deadline = time.monotonic() + 30
    while caller.gets(f"/api/apps/{app}").status != 200:
        assert time.monotonic() < deadline, f"{app} has not been taken up"
        time.sleep(0.05)
