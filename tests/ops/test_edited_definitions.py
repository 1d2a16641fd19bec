"""Definitions that are edited while ``sluice up`` uses them."""

import signal
import subprocess
from pathlib import Path

from tests.ops.typist import Typist, ended

APP = {"job_id": "{n}", "bash_cmd": "echo {n}"}
TOLD = "the definitions have changed: 2 apps; new: second"


def test_up_runs_apps_that_are_defined_or_edited_meanwhile(tmp_path: Path) -> None:
    typist = Typist(tmp_path, SLUICE_HOME=str(tmp_path / "home"), SLUICE_APPS="apps.json")
    typist.apps("apps.json", {"first": APP})
    with typist.starts("--verbose", "up") as up:
        assert up.stdout is not None
        assert "1 app" in up.stdout.readline()
        typist.apps("apps.json", {"first": APP, "second": APP})
        _wait_for(up, TOLD)
        assert typist.asks("submit", "second", "7", "--wait")["state"] == "succeeded"
        typist.apps("apps.json", {"first": APP, "second": APP | {"bash_cmd": "echo anew {n}"}})
        _wait_for(up, "the definitions have changed: 2 apps")
        assert typist.asks("submit", "second", "8", "--wait")["state"] == "succeeded"
        up.send_signal(signal.SIGINT)
        assert ended(up).code == 0
    assert typist.asks("show", "second", "7")["rounds"][0]["output"] == "7\n"
    assert typist.asks("show", "second", "8")["rounds"][0]["output"] == "anew 8\n"


def _wait_for(process: subprocess.Popen[str], words: str) -> None:
    """Read the log of a process up to a line with these words."""
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        if words in line:
            return
    raise AssertionError("".join(said))
