"""Logs of the commands that run for long: with ``SLUICE_LOG=json``, JSON lines from the first word to the last."""

import json
import signal

import pytest

from tests.ops.typist import Typist, ended

COMMANDS = {
    "console": ("console", "--listen", "127.0.0.1:0"),
    "autoscale": ("autoscale", "--queue", "fetch=0..1"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_service_logs_its_start_and_its_end_as_json_and_prints_nothing(
    desk_apart: Typist, command: str
) -> None:
    settings = {
        "SLUICE_LOG": "json",
        "SLUICE_LEDGER_URL": desk_apart.ledger.url,
        "SLUICE_BROKER_URL": "redis://:secret@127.0.0.1:1",
    }
    with desk_apart.starts(*COMMANDS[command], **settings) as process:
        assert process.stderr
        first = json.loads(process.stderr.readline())
        while " starts: " not in first["message"]:
            first = json.loads(process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        said = ended(process)
    assert said.code == 0
    assert said.out == ""
    assert first["level"] == "info"
    assert " of Sluice " in first["message"]
    for fact in ("definitions ", "ledger postgresql://", "broker redis://127.0.0.1:1", "lease 15 s"):
        assert fact in first["message"]
    assert "secret" not in first["message"]
    assert [json.loads(line) for line in said.err.splitlines()][-1]["message"] == "stopped"


def test_the_error_that_ends_a_command_is_a_line_of_a_json_log(desk_apart: Typist) -> None:
    said = desk_apart.types("console", "--listen", "0.0.0.0:0", SLUICE_LOG="json")
    (line,) = (json.loads(line) for line in said.err.splitlines())
    assert (said.code, line["level"], line["logger"]) == (2, "error", "sluice.command")
    assert "there is no token" in line["message"]
    assert line["advice"].startswith("Set SLUICE_CONSOLE_TOKEN")
