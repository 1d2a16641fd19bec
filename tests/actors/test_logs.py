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


EXTRA = r"""
import logging, pathlib
from sluice.actors.worker.logs import set_up_logs
from sluice.jobs.observe.log_context import Speaking, Subject
set_up_logs("json")
log, endless = logging.getLogger("acme"), []
endless.append(endless)
with Speaking(Subject(app="charge", key="7", trace_id="a" * 32)):
    log.error("charged", extra={"customer": 7, "cents": {"sum": 1.5}, "key": "theirs", "level": "theirs"})
    log.error("odd", extra={"path": pathlib.PurePath("x"), "name_of_file": "caf\udce9", "none": None})
    log.error("endless", extra={"endless": endless, "customer": 7})
    log.error("where", stack_info=True)
"""


def test_fields_that_code_adds_are_in_the_json_line() -> None:
    command = [sys.executable, "-c", EXTRA]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True, timeout=60)
    charged, odd, endless, where = [json.loads(line) for line in done.stderr.splitlines()]
    assert (charged["customer"], charged["cents"]) == (7, {"sum": 1.5})
    assert (charged["key"], charged["extra_key"]) == ("7", "theirs"), "a job's own fields stay"
    assert (charged["level"], charged["extra_level"]) == ("error", "theirs")
    assert (charged["app"], charged["trace_id"]) == ("charge", "a" * 32)
    assert (odd["path"], odd["name_of_file"], odd["none"]) == ("PurePosixPath('x')", r"caf\udce9", None)
    assert (endless["message"], endless["endless"], endless["customer"]) == ("endless", "[[...]]", 7)
    assert "log.error" in where["stack"] or "<string>" in where["stack"]
    assert set(where) == {"at", "level", "logger", "pid", "message", "stack", "app", "key", "trace_id"}


@pytest.mark.parametrize("kind", ["text", "json"])
def test_writing_such_lines_causes_no_logging_error(kind: str) -> None:
    assert [line for line in said(kind) if "Logging error" in line or "UnicodeEncodeError" in line] == []


CRASHES = r"""
import sys, threading, warnings
from sluice.actors.worker.logs import logged_crashes, set_up_logs
set_up_logs("json")
with logged_crashes():
    thread = threading.Thread(target=lambda: 1 / 0, name="notifier")
    thread.start()
    thread.join()
    warnings.warn("an old option")
    sys.excepthook(*[(type(error), error, None) for error in [ValueError("a defect")]][0])
"""


def test_uncaught_errors_and_warnings_are_lines_of_a_json_log() -> None:
    command = [sys.executable, "-W", "default", "-c", CRASHES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True, timeout=60)
    thread, warning, crash = [json.loads(line) for line in done.stderr.splitlines()]
    assert (thread["level"], thread["message"]) == ("error", "the thread notifier ends because of an error")
    assert "ZeroDivisionError" in thread["error"]
    assert (warning["level"], "an old option" in warning["message"]) == ("warning", True)
    assert (crash["level"], "ValueError: a defect" in crash["error"]) == ("critical", True)


@pytest.mark.parametrize("is_verbose", [True, False])
def test_ends_of_outages_are_logged_as_their_starts_are(*, is_verbose: bool) -> None:
    speaks = f"""
import logging, time
from sluice.actors.worker.logs import set_up_logs
from sluice.jobs.observe.outages import OutageLog
set_up_logs("text", verbose={is_verbose})
outages = OutageLog("the broker redis://host", time.monotonic)
outages.failed("refused")
outages.answered()
logging.getLogger("sluice.process").info("stopped")
"""
    command = [sys.executable, "-c", speaks]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=True, timeout=60)
    start, end, *others = done.stderr.splitlines()
    assert ("is unreachable" in start, "answers again" in end) == (True, True)
    assert len(others) == is_verbose
