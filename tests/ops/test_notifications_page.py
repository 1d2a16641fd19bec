"""docs/notifications.md: its definition is valid, and its request is the one that a receiver gets."""

import json
import re
import threading
from pathlib import Path

from sluice.actors.notifier.notifier import Notifier
from sluice.actors.notifier.senders import Sender
from sluice.jobs.catalogue import load
from sluice.jobs.model.job import Ending
from sluice.jobs.notifications.webhook import EVENT_HEADER
from sluice.ledger.notifications.deliveries import ATTEMPTS_MAX, GIVE_UP_S, RETRY_S, RETRY_S_MAX
from tests.jobs.receivers import receiving
from tests.ops.typist import ROOT
from tests.world import World

TEXT = (ROOT / "docs" / "notifications.md").read_text()
DEFINITION, REQUEST = (
    json.loads(block) for block in re.findall(r"^```json\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
)


def test_the_definition_of_the_page_sends_the_request_of_the_page(world: World) -> None:
    world.define(DEFINITION)
    world.submit("load", REQUEST["key"])
    world.record(world.take(f"load/{REQUEST['key']}"), Ending.ERROR, error=REQUEST["error"])
    world.deliver()
    with receiving() as alerts, receiving() as slack:
        sender = Sender(
            hosts=("127.0.0.1",),
            console_url="https://sluice.example.org",
            stop=threading.Event(),
            environment={"ALERT_URL": alerts.url, "SLACK_URL": slack.url},
        )
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
    assert "after 5 seconds, then after twice as long, up to\nan hour" in TEXT
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
