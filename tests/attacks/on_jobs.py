"""Jobs that read foreign files, break their runners, or fetch from forbidden hosts."""

import hashlib
import json
import time

from tests.attacks.attack import attack
from tests.attacks.installation import SECRET, Installation, line
from tests.jobs.programs.archives import RUN_SH, Member, archive

#: Seconds in which an archive with too many files has to be refused, on a busy machine with a slow disk.
REFUSED_WITHIN_S = 60.0
#: Hosts that belong to this machine, to its network or to its cloud, in several spellings.
INNER = (
    *("168.63.129.16", "169.254.169.254", "127.0.0.1", "localhost", "2130706433", "0x7f.1", "017700000001"),
    *("[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001:20::1]", "192.88.99.1"),
    *("[fe80::5efe:7f00:1]", "10.0.0.7", "0.0.0.0"),
)


@attack("settings and credentials, read by a job in bubblewrap")
def settings_read(place: Installation) -> str:
    keys = ["sluice.env", str(place.folder / "sealed" / "data" / "sluice.env"), str(place.home / ".npmrc")]
    id_ = place.submits(json.dumps({"app": "reads", "keys": keys}))
    state, _ = place.settled(id_)
    assert state == "failed", state
    rounds = place.asks(
        "SELECT output, stderr, error FROM round JOIN job ON job.id = job WHERE app = 'reads'"
    )
    assert len({stderr for _, stderr, _ in rounds}) == len(keys), rounds
    assert SECRET not in str(rounds)
    return line(str(rounds[0][1]))


@attack("the worker's own environment, read by a job in bubblewrap")
def environment_read(place: Installation) -> str:
    state, _ = place.settled(place.submits(json.dumps({"app": "sealed", "key": "1"})))
    (told,) = place.asks("SELECT output FROM round JOIN job ON job.id = job WHERE app = 'sealed'")
    assert state == "succeeded", state
    assert "SLUICE_JOB=" in told[0]
    assert SECRET not in told[0]
    assert "SLUICE_LEDGER_URL" not in told[0]
    return "the job saw the environment of its own processes alone"


@attack("a function that recurses without end, and one without memory")
def runners(place: Installation) -> str:
    id_ = place.submits(json.dumps({"app": "exhausts", "key": "1"}))
    place.failed(id_, "exhausts", "1", "MemoryError")
    return place.failed(
        place.submits(json.dumps({"app": "recurses", "key": "1"})), "recurses", "1", "RecursionError"
    )


@attack("an input of a program that nests as deeply as is accepted")
def deep_input(place: Installation) -> str:
    levels = 60
    nested = json.loads("[" * levels + "]" * levels)
    wanted = {"app": "deep", "key": "1", "kwargs": {"source": "file:/x/run.sh", "input": nested}}
    refusal = place.failed(place.submits(json.dumps(wanted)), "deep", "1", "input")
    for path in ("/api/jobs/deep/1", "/api/jobs/deep/1/why", "/api/submissions"):
        assert place.viewer.gets(path).status == 200
    said = place.typist("reader").runs("show", "deep", "1")
    assert said.code == 0, said
    return refusal


@attack("programs from hosts that are not public")
def inner_hosts(place: Installation) -> str:
    ids = {}
    for number, host in enumerate(INNER):
        source = f"http://{host}:{place.port}/run.sh"
        wanted = {"app": "scan", "key": str(number), "kwargs": {"source": source}}
        ids[number] = place.submits(json.dumps(wanted))
    refusals = [place.failed(id_, "scan", str(number), "public internet") for number, id_ in ids.items()]
    assert all("127.0.0.1" not in each for each in refusals if "localhost" in each), refusals
    return refusals[0]


@attack("an archive of 20,005 files")
def many_files(place: Installation) -> str:
    path = place.folder / "many.tar"
    path.write_bytes(archive("tar", [RUN_SH, *(Member(f"f/{number}") for number in range(20_004))]))
    began = time.monotonic()
    wanted = {"app": "adhoc", "key": "many", "kwargs": {"source": f"file:{path}"}}
    id_ = place.submits(json.dumps(wanted))
    refusal = place.failed(id_, "adhoc", "many", "20000", within_s=REFUSED_WITHIN_S)
    return f"after {time.monotonic() - began:.1f} s: {refusal}"


@attack("archives that write outside their folder")
def escaping_archives(place: Installation) -> str:
    victim = place.folder / "escaped"
    archives = {
        "absolute": [RUN_SH, Member(str(victim), b"x")],
        "above": [RUN_SH, Member("../../../../escaped", b"x")],
        "linked": [RUN_SH, Member("out", str(place.folder).encode(), "symlink"), Member("out/escaped", b"x")],
    }
    refusals = []
    for name, members in archives.items():
        path = place.folder / f"{name}.tar"
        path.write_bytes(archive("tar", members))
        wanted = {"app": "adhoc", "key": name, "kwargs": {"source": f"file:{path}"}}
        refusals.append(place.failed(place.submits(json.dumps(wanted)), "adhoc", name, ""))
    assert not victim.exists()
    return refusals[0]


@attack("a pinned program, changed in the store by another app's job")
def tampered(place: Installation) -> str:
    source = place.folder / "genuine.tar"
    source.write_bytes(archive("tar", [Member("run.sh", b"#!/bin/sh\necho genuine\n", mode=0o755)]))
    pin = hashlib.sha256(source.read_bytes()).hexdigest()
    wanted = {"app": "adhoc", "kwargs": {"source": f"file:{source}", "sha256": pin}}
    state, _ = place.settled(place.submits(json.dumps(wanted | {"key": "before"})))
    assert state == "succeeded", state
    state, _ = place.settled(place.submits(json.dumps({"app": "tampers", "key": "1"})))
    assert state == "succeeded", state
    state, _ = place.settled(place.submits(json.dumps(wanted | {"key": "after"})))
    assert state == "succeeded", state
    ran = "SELECT output, log FROM round JOIN job ON job.id = job WHERE app = 'adhoc' AND key = %s"
    ((output, log),) = place.asks(ran, "after")
    assert "genuine" in str(output)
    assert "TAMPERED" not in str(output), "a pinned program was changed, and was run"
    assert "was changed" in str(log), log
    return line(str(log))
