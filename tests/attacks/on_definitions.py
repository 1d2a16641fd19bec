"""Definitions, settings and output that reach further than their authors may."""

import json
import os
import pty
import subprocess
import sys
import termios

from tests.attacks.attack import attack
from tests.attacks.installation import Installation, line

#: Commands in which a shell would evaluate the key as code.
EVALUATED = (
    "if [[ {n} -gt 3 ]]; then true; fi",
    "echo $(( {n} + 1 ))",
    "a=(1 2); echo ${{a[{n}]}}",
    "eval echo {n}",
    "bash -c 'echo {n}'",
)
#: Addresses with a password and with typical mistakes.
_PASSWORD = "SECRETPW"
ADDRESSES = (
    ("--ledger", f"host=db user=u password={_PASSWORD}"),
    ("--ledger", f"postgresql://u:{_PASSWORD} x@127.0.0.1:1/x"),
    ("--ledger", f"postgresql://u:{_PASSWORD}%zz@127.0.0.1:1/x"),
    ("--ledger", f"postgresql://u:{_PASSWORD}%00@127.0.0.1:1/x"),
    ("--broker", f"amqp://u:{_PASSWORD}#x@127.0.0.1:1/x"),
    ("--broker", f"amqp://u:{_PASSWORD}?x@127.0.0.1:1/x"),
    ("--broker", f"redis://u:{_PASSWORD}/x@127.0.0.1:1/0"),
)


@attack("definitions with commands that evaluate a key")
def evaluated_keys(place: Installation) -> str:
    return _refused(place, [{"job_id": "{n}", "bash_cmd": each} for each in EVALUATED])


@attack("definitions that name the worker's own settings")
def own_settings(place: Installation) -> str:
    names = ("SLUICE_LEDGER_URL", "SLUICE_MESSAGE_KEYS", "PGPASSWORD")
    return _refused(place, [{"job_id": "{n}", "bash_cmd": "env", "env_from_os": [each]} for each in names])


@attack("functions in rows of the ledger, imported by console or planner")
def functions_of_rows(place: Installation) -> str:
    mark, code = place.folder / "mark", place.folder / "marking.py"
    code.write_text(f"open({str(mark)!r}, 'w').close()\ndef leave_a_mark(): pass\n")
    words = json.dumps({"output_table": "daily", "function": f"{code}:leave_a_mark"})
    version = ("daily", "0123456789abcdef", words)
    insert = (
        "INSERT INTO app_version (app, version, code, options, seen_at) VALUES (%s, %s, '', %s::jsonb, now())"
    )
    refusal = place.refused_by_sql("worker", insert, *version)
    with place.connect("control") as connection:
        connection.execute(insert.encode(), version)
        connection.execute("INSERT INTO branch (branch, app, version) VALUES ('theirs', %s, %s)", version[:2])
        connection.execute(
            "INSERT INTO branch_sync (branch, confs, synced_at) VALUES ('theirs', '{}', now())"
        )
    assert place.viewer.gets("/api/partitions/grid?branch=theirs").status == 200
    wanted = {"app": "daily", "start": "2024-04-01", "end": "2024-04-01", "branch": "theirs"}
    id_ = place.submits(json.dumps(wanted))
    place.wait(lambda: place.state(id_) != "received", within_s=30)
    assert place.operator.posts(f"/api/submissions/{id_}/cancel").status in {200, 409}
    assert not mark.exists()
    return refusal


@attack("passwords in the errors of wrong addresses")
def passwords(place: Installation) -> str:
    told = []
    for option, address in ADDRESSES:
        said = place.typist().runs(option, address, "doctor" if option == "--broker" else "ls")
        assert said.code in {1, 2, 3}, said
        assert _PASSWORD[:3] not in said.out + said.err, said
        told.append(said.err or said.out)
    return line(told[0])


@attack("output that commands the terminal of its reader")
def terminal(place: Installation) -> str:
    state, _ = place.settled(place.submits(json.dumps({"app": "escapes", "key": "1"})))
    assert state == "succeeded", state
    drawn = _on_a_terminal(place, "logs", "escapes", "1")
    assert b"\x1b]0;" not in drawn, drawn
    assert b"\x1b[2J" not in drawn, drawn
    return line(repr(drawn.decode().strip()))


def _refused(place: Installation, apps: list[dict[str, object]]) -> str:
    """Return the line with which ``apps check`` refuses each of these definitions."""
    typist, told = place.typist(), []
    for app in apps:
        path = typist.apps("theirs.json", {"theirs": app})
        said = typist.types("--apps", str(path), "apps", "check", SLUICE_APPS="")
        assert said.code != 0, (app, said)
        told.append(next(each for each in (said.out + said.err).splitlines() if "theirs" in each))
    return line(told[0])


def _on_a_terminal(place: Installation, *words: str) -> bytes:
    """Return all output of a command on a terminal of 80 columns."""
    typist = place.typist("reader")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (30, 80))
    process = subprocess.Popen(
        [sys.executable, "-m", "sluice.ops.cli.main", *words],
        cwd=typist.folder,
        env=typist.environment | {"TERM": "xterm-256color", "LANG": "C.UTF-8"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 4096):
            written += piece
    except OSError:  # On Linux the end of the other side is an error.
        assert process.wait(timeout=60) == 0, written
    os.close(ours)
    return written
