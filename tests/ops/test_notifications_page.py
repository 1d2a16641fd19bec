"""docs/notifications.md: its definition is valid, and its request is the one that a receiver gets."""

import json
import re
import threading
from pathlib import Path

from sluice.actors.notifier.notifier import Notifier
from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.fields.notify_option import TARGET_BYTES_MAX
from sluice.jobs.model.job import Ending
from sluice.jobs.notifications import command
from sluice.jobs.notifications.body import EventBody
from sluice.jobs.notifications.webhook import EVENT_HEADER
from sluice.ledger.notifications.deliveries import (
    ATTEMPTS_MAX,
    ERROR_LENGTH_MAX,
    GIVE_UP_S,
    RETRY_S,
    RETRY_S_MAX,
)
from tests.actors.senders import sender_of
from tests.jobs.receivers import receiving
from tests.ops.typist import ROOT
from tests.world import World, catalogue_of

TEXT = (ROOT / "docs" / "notifications.md").read_text()
DEFINITION, REQUEST, NAMED = (
    json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
)


def test_the_definition_of_the_page_sends_the_request_of_the_page(world: World) -> None:
    world.define(DEFINITION)
    world.submit("load", REQUEST["key"])
    world.record(world.take(f"load/{REQUEST['key']}"), Ending.ERROR, error=REQUEST["error"])
    world.deliver()
    with receiving() as alerts, receiving() as slack:
        environment = {"ALERT_URL": alerts.url, "SLACK_URL": slack.url}
        sender = sender_of(catalogue_of(DEFINITION), threading.Event(), environment)
        notifier = Notifier(world.ledger, sender, world.queue.extend, threading.Event(), period_s=1.0)
        for attempt in notifier.step():
            attempt.result(30)
        notifier.end()
    (body,) = alerts.bodies
    assert body == REQUEST | {"id": body["id"]}
    assert alerts.headers[0][EVENT_HEADER] == body["id"]
    assert list(slack.bodies[0]) == ["text"]


def test_the_page_has_the_limits_of_the_code() -> None:
    assert (ATTEMPTS_MAX, RETRY_S, RETRY_S_MAX, GIVE_UP_S) == (16, 5.0, 3600.0, 86400.0)
    assert "after 5\nseconds, then after twice as long, up to an hour" in TEXT
    assert f"ended after {command.TIMEOUT_S:g} seconds" in TEXT
    assert f"at most {command.OUTPUT_MAX} characters" in TEXT
    assert f"`error`, at most {ERROR_LENGTH_MAX} characters" in TEXT
    assert f"at most {TARGET_BYTES_MAX} bytes" in TEXT
    assert "given up after 16 attempts, or a day" in TEXT
    assert EVENT_HEADER in TEXT


def test_the_app_of_the_page_can_get_events(tmp_path: Path) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    source = tmp_path / "alerts.py"
    source.write_text(
        code + '\n\n@app(notify=[{"on": ["failed"], "app": alert}])\ndef load(day: str) -> None: ...\n'
    )
    catalogue = load([str(source)])
    assert [rule.to.app for rule in catalogue["load"].policy.notify] == ["alert"]


def test_the_named_receivers_of_the_page_get_events(world: World, tmp_path: Path) -> None:
    world.define(NAMED)
    world.submit("load", "20260101")
    world.finish("load/20260101", Ending.ERROR)
    program = tmp_path / "logger"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/words\n')
    program.chmod(0o700)
    with receiving() as slack:
        environment = {"SLACK_URL": slack.url, "PATH": f"{tmp_path}:/usr/bin:/bin"}
        sender = sender_of(catalogue_of(NAMED), threading.Event(), environment)
        notifier = Notifier(world.ledger, sender, world.queue.extend, threading.Event(), period_s=1.0)
        for attempt in notifier.step():
            attempt.result(60)
        notifier.end()
    assert list(slack.bodies[0]) == ["text"]
    assert (tmp_path / "words").read_text().splitlines() == ["-t", "sluice", "load/20260101 failed"]


def test_the_page_lists_the_variables_of_a_command() -> None:
    event = EventBody(**REQUEST)
    rows = dict(re.findall(r"^\| `(SLUICE_[A-Z_]+)` \| `([a-z]+)`", TEXT, re.MULTILINE))
    values = {name: "" if REQUEST[field] is None else str(REQUEST[field]) for name, field in rows.items()}
    assert values == command.variables(event)
