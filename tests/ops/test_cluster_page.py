"""docs/cluster.md, typed from its first line to its last, with servers of the test in place of those of the page.

A reader types more slowly than jobs start. So the test waits for the workers, and until the fetches run.
"""

import re
from pathlib import Path

from sluice.ledger.embedded import start
from tests import private_servers
from tests.ops.transcripts import Document
from tests.ops.typist import ROOT

#: Seconds. The loops wait for other processes. If these fail, the test must not wait indefinitely.
TIMEOUT_S = 300
TEXT = (ROOT / "docs" / "cluster.md").read_text()
_WORKERS = "$ until sluice workers | grep --count ' yes ' | grep --quiet 3; do sleep 0.5; done\n"
_FETCHES = "$ until sluice demand fetch | grep --quiet -E '^fetch +4 +0 +4 '; do sleep 0.5; done\n"


def test_the_commands_of_the_page_print_the_shown_answers(tmp_path: Path) -> None:
    with (
        start(tmp_path / "postgres", durable=False) as postgres,
        private_servers.rabbitmq() as rabbitmq,
    ):
        text = _translated(TEXT, postgres.url, rabbitmq.url)
        steps = Document(text, tmp_path, timeout_s=TIMEOUT_S).check(unordered="sluice workers")
    assert len(steps) > 25


def test_docker_starts_the_same_servers_as_compose() -> None:
    images = re.findall(r"^docker run .* (\S+)$", TEXT, re.MULTILINE)
    compose = (ROOT / "docker-compose.yml").read_text()
    assert len(images) == 2
    assert all(f":-{image}}}" in compose for image in images)


def _translated(text: str, ledger: str, broker: str) -> str:
    """Return the page with the addresses of the test's servers, a free port, and commands that wait."""
    replacements = {
        "postgresql://postgres:secret@127.0.0.1/sluice": f"'{ledger}'",
        "amqp://guest:guest@127.0.0.1\n": f"'{broker}'\n",
        "127.0.0.1:8484": f"127.0.0.1:{private_servers.free_port()}",
        "$ second=$!\n": f"$ second=$!\n{_WORKERS}",
        "$ sluice demand fetch\n": f"{_FETCHES}$ sluice demand fetch\n",
        # Without a terminal, the command prints its progress every 10 s.
        "--id sunday --wait\n": "--id sunday --wait 2>&1 | grep --invert-match -E '^[0-9]'\n",
        # bash reports a background job that was killed, in the answer of any command.
        "$ kill -9 $second\n": "$ { kill -9 $second; wait $second; } 2> /dev/null\n",
    }
    for shown, typed in replacements.items():
        assert shown in text, shown
        text = text.replace(shown, typed)
    return text
