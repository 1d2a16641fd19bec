"""Log of a process: every line is written, whatever characters it contains."""

import json
import subprocess
import sys

import pytest

from tests.ops.typist import ROOT

#: Logged text of a file name that is not UTF-8. ``os.listdir`` returns the name with half a surrogate pair.
WRITTEN = r"caf\udce9.txt"
SPEAKS = r"""
import logging, sys
from sluice.actors.worker.logs import set_up_logs
set_up_logs(sys.argv[1])
logging.error("%s is not there", "caf\udce9.txt")
try:
    raise FileNotFoundError("caf\udce9.txt")
except FileNotFoundError:
    logging.exception("it broke")
logging.error("café")
"""


def said(kind: str) -> list[str]:
    command = [sys.executable, "-c", SPEAKS, kind]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True, timeout=60)
    return done.stderr.splitlines()


def test_a_json_line_with_half_a_surrogate_pair_is_written() -> None:
    odd, broken, usual = [json.loads(line) for line in said("json")]
    assert odd["message"] == f"{WRITTEN} is not there"
    assert (broken["message"], broken["error"].splitlines()[-1]) == (
        "it broke",
        f"FileNotFoundError: {WRITTEN}",
    )
    assert usual["message"] == "café"


@pytest.mark.parametrize("kind", ["text", "json"])
def test_writing_such_lines_causes_no_logging_error(kind: str) -> None:
    assert [line for line in said(kind) if "Logging error" in line or "UnicodeEncodeError" in line] == []
