"""Work by chunk by typed commands, which a real worker runs on a real ledger."""

import shutil
from pathlib import Path

import pytest

from tests.acceptance.chunk_notation import definitions
from tests.acceptance.chunked_ledger import recorded
from tests.acceptance.command_typist import Clerk
from tests.ops.typist import ROOT, Typist
from tests.world import World

COMMAND = "echo {app_name}/{work_ids} >> ran.txt; test ! -e {app_name}.{work_ids}.fails"
README = "A=3: B; B=2: E; E=6"
RUN = ("run", "A", "--work-ids", "1-6")
THANKS = "Thanks for trying Stau!"


def test_a_folder_of_definitions_as_in_stau_runs(tmp_path: Path) -> None:
    """With the default ledger: an embedded one in the folder of the command."""
    shutil.copytree(
        ROOT / "jobs/examples/stau", tmp_path / "flows", ignore=shutil.ignore_patterns("__pycache__")
    )
    typist = Typist(tmp_path, SLUICE_APPS="flows")
    kwargs = ("--kwargs", '{"final_message": "' + THANKS + '"}')
    said = typist.types("run", "goodbye", *kwargs)
    assert said.code == 0, said.err
    assert greetings(said.out + said.err) == GREETINGS
    again = typist.types("run", "goodbye", *kwargs, "--json")
    assert (again.code, again.document["jobs"]) == (0, {"succeeded": 3}), "hello always runs"
    assert greetings(again.err) == GREETINGS
    listed = typist.asks("ls")
    assert {(job["app"], job["key"].partition("@")[0], job["state"]) for job in listed} == {
        ("hello", "0", "succeeded"),
        ("hello", "1", "succeeded"),
        ("goodbye", "0-1", "succeeded"),
    }
    document = typist.asks("plan", "goodbye", *kwargs)
    assert [(job["app"], job["work_ids"]) for job in document["jobs"]] == [
        ("hello", [0]),
        ("hello", [1]),
        ("goodbye", [0, 1]),
    ]
    assert [job["kwargs"] for job in document["jobs"]] == [{"final_message": THANKS}] * 3


def test_another_submission_runs_only_failed_and_unfinished_chunks_again(office: Clerk) -> None:
    source = ("--apps", defines(office, README))
    office.writes("B.3-4.fails", "")
    assert office.types(*source, *RUN).code == 1
    assert sorted(runs(office)) == ["B/1-2", "B/3-4", "B/5-6", "E/1-6"]
    plan = office.asks(*source, "plan", "A", "--work-ids", "1-6")
    assert [(job["app"], job["work_ids"]) for job in plan["jobs"]] == [
        ("B", [3, 4]),
        ("A", [1, 2, 3]),
        ("A", [4, 5, 6]),
    ]
    (office.folder / "B.3-4.fails").unlink()
    assert office.asks(*source, *RUN)["jobs"] == {"succeeded": 3}
    first, *rest = runs(office)[4:]
    assert (first, sorted(rest)) == ("B/3-4", ["A/1-3", "A/4-6"])


@pytest.mark.parametrize("last", ["up --drain", "run A --work-ids 1,2"])
def test_a_submission_that_waits_to_be_planned_is_planned_later(
    office: Clerk, world: World, last: str
) -> None:
    """By then the dependencies are fresh, and do not run again.

    ``run`` ends with its own submission and hands back its running jobs of other submissions, which begin again.
    """
    source = ("--apps", defines(office, "A=2: B; B=2: E; E=2"))
    office.asks(*source, "submit", "E", "--work-ids", "1,2")
    office.asks(*source, "submit", "B", "--work-ids", "1,2")
    office.asks(*source, "submit", "A", "--work-ids", "1,2")
    office.asks(*source, *last.split())
    office.asks(*source, "up", "--drain")
    assert {each["state"] for each in office.asks(*source, "submissions")} == {"succeeded"}
    ended = world.ledger.transact(
        lambda tx: tx.column(
            "SELECT app FROM round JOIN job ON job.id = round.job WHERE ending = 'done' ORDER BY executed_at"
        )
    )
    assert ended == ["E", "B"] + ["A"] * (2 if last.startswith("run") else 1)
    began = runs(office)
    assert (began[:2], {*began[2:]}) == (["E/1-2", "B/1-2"], {"A/1-2"})
    if last == "up --drain":
        assert len(began) == 3


def test_a_chunk_that_has_not_ended_cannot_be_retried(office: Clerk, world: World) -> None:
    source = ("--apps", defines(office, README))
    world.define(definitions(README))
    world.submit("A", None, work_ids="1-6")
    for chunk, job in recorded(world).items():
        said = office.types(*source, "retry", chunk.app, job.key)
        assert said.code == 2
        assert f"{chunk.app}/{job.key} is {job.state}; only finished jobs can be run again" in said.err
    assert world.claim(f"A/{recorded(world)[next(reversed(recorded(world)))].key}") is None, "it waits"


def test_a_submission_without_work_ids_is_cancelled_with_a_reason(office: Clerk) -> None:
    source = ("--apps", office.defines(definitions("A=2 select=nothing")))
    document = office.types(*source, "run", "A").document
    assert (document["state"], document["jobs"]) == ("cancelled", {})
    shown = office.asks(*source, "submissions", document["submission"])
    assert shown["reason"] == "There are no work IDs: A has nothing to do."


def test_why_names_the_waiting_submission_and_the_job_it_waits_for(office: Clerk, world: World) -> None:
    source = ("--apps", defines(office, README))
    world.define(definitions(README))
    world.submit("B", None, work_ids="1,2", id="one")
    world.submit("A", None, work_ids="1-6", id="two")
    reason = office.asks(*source, "submissions", "two")["reason"]
    assert reason == "waits for B/1-2@1, which is waiting, and 1 more"
    why = office.asks(*source, "why", "A", "1-6")
    told = " ".join(each["what"] for each in why["waits_for"])
    assert "submission two to be planned" in told
    assert "B/1-2@1" in told


GREETINGS = (["Hello work ID 0", "Hello work ID 1"], ["Goodbye work ID 0", "Goodbye work ID 1", THANKS])


def greetings(text: str) -> tuple[list[str], list[str]]:
    """Return the first two lines that the jobs have printed, sorted, and the other lines in their order."""
    told = [line for line in text.splitlines() if line.startswith(("Hello", "Goodbye", "Thanks"))]
    return sorted(told[:2]), told[2:]


def defines(office: Clerk, text: str) -> str:
    return office.defines({app: {**words, "bash_cmd": COMMAND} for app, words in definitions(text).items()})


def runs(office: Clerk) -> list[str]:
    """Return the job of every run, in order."""
    return (office.folder / "ran.txt").read_text().splitlines()
