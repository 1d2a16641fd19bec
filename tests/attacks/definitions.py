"""Definitions of the installation that is attacked."""

import json
from pathlib import Path
from typing import Any

PYTHON = """
def recurse(n):
    return recurse(n)


def fail_badly(n):
    raise MemoryError(f"job {n} took all there was")
"""
#: Apps of the worker at the default level of the sandbox, and of the worker in bubblewrap. Apps in ``UNSERVED`` have no
#: worker, because only planning them matters.
SERVED = (
    *(
        "probe",
        "nightly",
        "lent",
        "quiet",
        "safe",
        "shout",
        "adhoc",
        "deep",
        "recurses",
        "exhausts",
        "escapes",
    ),
    *("scan", "dotted", "tampers"),
)
SEALED = ("reads", "sealed")
UNSERVED = ("many", "hours", "millennium", "daily", "waits")


def write(folder: Path, probes: Path) -> Path:
    """Write the definitions into this folder. Return the path for ``SLUICE_APPS``."""
    code = folder / "attacked.py"
    code.write_text(PYTHON)
    path = folder / "apps.json"
    path.write_text(json.dumps(_apps(code, probes)))
    return path


def _apps(code: Path, probes: Path) -> dict[str, Any]:
    numbered = {"job_id": "{n}"}
    hourly = {"bash_cmd": "true", "partition": "hour"}
    return {
        "probe": {
            **numbered,
            "identifiers": {"n": "int"},
            "bash_cmd": 'date +%s.%N >"$PROBES/{n}"',
            "env": {"PROBES": str(probes)},
        },
        "nightly": {**numbered, "bash_cmd": "echo report for {n}", "timeout": "5m"},
        "lent": {**numbered, "bash_cmd": "env", "submitters_may_set": ["env", "env_from_os"]},
        "quiet": {**numbered, "bash_cmd": "true", "submitters_may_set": ["env"]},
        "safe": {**numbered, "bash_cmd": "echo {n} '{n}' \"{n}\"; [ {n} -gt 3 ] || true", "cwd": str(probes)},
        "shout": {**numbered, "bash_cmd": "yes | head -c 40000", "keep_output": True},
        "escapes": {**numbered, "bash_cmd": "printf '\\033]0;owned\\007\\033[2J'"},
        "dotted": {**numbered, "bash_cmd": "true"},
        "adhoc": {**numbered, "job_type": "program"},
        "deep": {**numbered, "job_type": "program"},
        "scan": {**numbered, "job_type": "program"},
        "tampers": {
            **numbered,
            "bash_cmd": 'for each in "$STORE"/versions/*/program/run.sh; do echo "echo TAMPERED" >>"$each"; done',
            "env": {"STORE": str(probes.parent / "programs")},
        },
        "recurses": {**numbered, "function": f"{code}:recurse"},
        "exhausts": {**numbered, "function": f"{code}:fail_badly"},
        "reads": {**numbered, "bash_cmd": "cat {n}"},
        "sealed": {**numbered, "bash_cmd": 'cat /proc/*/environ; ls -A "$HOME"'},
        "many": {"chunk_size": 100, "bash_cmd": "true"},
        "hours": {**hourly, "step_size": 24},
        "millennium": {**hourly, "step_size": 2_000_000},
        "daily": {"bash_cmd": "true", "partition": "day"},
        "waits": {**numbered, "bash_cmd": "true"},
    }
