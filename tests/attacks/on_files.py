"""Names in the ledger for files of the console's and the pruner's machine, and files that other users could read."""

import json
import stat

from tests.attacks.attack import attack
from tests.attacks.installation import OPERATE, Installation, line

_NAMED = (
    "UPDATE round SET output_blob = %s WHERE job = (SELECT id FROM job WHERE app = 'shout' AND key = %s)"
    " AND output_blob IS NOT NULL"
)


def _printed(place: Installation, key: str) -> None:
    """Run a job with output in the blob store."""
    state, _ = place.settled(place.submits(json.dumps({"app": "shout", "key": key})))
    assert state == "succeeded", state


def _name(place: Installation, key: str, name: str) -> None:
    """With the rights of a worker, name another file as the output of this job."""
    with place.connect("worker") as connection:
        assert connection.execute(_NAMED, (name, key)).rowcount == 1


@attack("files of the console, named as the output of a job")
def files_read(place: Installation) -> str:
    _printed(place, "1")
    path = "/api/jobs/shout/1/rounds/1/output?download=1"
    assert len(place.viewer.gets(path).body) == 40_000
    climbs = "../" * 12
    refusals = []
    for name in (f"{climbs}proc/self/environ", "/etc/passwd", f"x/{climbs}etc/passwd", f"{climbs}etc/shadow"):
        _name(place, "1", name)
        answer = place.viewer.gets(path)
        assert answer.status >= 400, (name, answer)
        assert OPERATE.encode() not in answer.body
        assert b"root:" not in answer.body
        refusals.append(str(answer.document["detail"]))
    return line(refusals[0])


@attack("files of the pruner, named as the output of a job")
def files_removed(place: Installation) -> str:
    victim = place.folder / "victim.txt"
    victim.write_text("to be kept")
    _printed(place, "2")
    _name(place, "2", "../victim.txt")
    pruner = place.typist("control")
    place.wait(lambda: place.asks("SELECT now() > max(at) + interval '1s' FROM transition"), within_s=10)
    said = pruner.runs("db", "prune", "--older-than", "1s")
    assert victim.exists(), said
    assert said.code == 0, said
    return "victim.txt is still there; " + line(said.out or said.err)


@attack("blobs and tokens that other users of the machine could read")
def modes(place: Installation) -> str:
    _printed(place, "3")
    source = place.folder / "run.sh"
    source.write_text("#!/bin/sh\n")
    source.chmod(0o755)
    wanted = {"app": "adhoc", "key": "modes", "kwargs": {"source": f"file:{source}"}}
    assert place.settled(place.submits(json.dumps(wanted)))[0] == "succeeded"
    found = {name: stat.S_IMODE((place.folder / name).stat().st_mode) for name in ("blobs", "programs")}
    assert found == {"blobs": 0o700, "programs": 0o700}, found
    return "only their user can open the folders"
