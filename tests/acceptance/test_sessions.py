"""Sessions, typed command by command. A real worker runs the jobs on a real ledger."""

import re
from collections.abc import Sequence

import pytest

from sluice.jobs.states import State
from tests.acceptance.command_typist import Clerk
from tests.acceptance.sessions import COMMAND, SESSIONS, command
from tests.acceptance.story import states
from tests.ops.typist import Typist, ended

_STEP = re.compile(r"sluice (?P<typed>.*?) => (?P<code>\d+) ?(?P<states>.*?)(?: ?prints (?P<words>.*))?")


@pytest.mark.parametrize("name", SESSIONS)
def test_each_command_of_a_session_leads_to_the_expected_states(office: Clerk, name: str) -> None:
    told = SESSIONS[name]
    office.defines(told.apps)
    for step in told.steps:
        if match := _STEP.fullmatch(step):
            said = office.types("--apps", "apps.json", *match["typed"].split())
            assert said.code == int(match["code"]), said.err + said.out
            assert (match["words"] or "") in said.err + said.out
            assert known(office) == states(match["states"]), step
        else:
            app, _, code = step.split()
            office.writes(f"{app}.exit", code)
    assert sorted(runs(office)) == sorted(told.ran.split())


def test_the_most_urgent_job_runs_first(office: Clerk) -> None:
    office.defines({"A": command()})
    for priority in (5, 0, 10, -1):
        key = f"urgency {priority}"
        office.asks("--apps", "apps.json", "submit", "A", key, "--priority", str(priority))
    office.asks("--apps", "apps.json", "up", "--drain", "--threads", "1")
    assert runs(office) == [f"A/urgency {priority}" for priority in (10, 5, 0, -1)]


def test_the_shell_reads_a_key_as_one_word_only(office: Clerk) -> None:
    office.defines({"A": command()})
    key = "x; touch 'here' && echo $(id) `id` \"two\" *"
    assert office.asks("--apps", "apps.json", "run", "A", key)["jobs"] == {"succeeded": 1}
    assert runs(office) == [f"A/{key}"]
    assert not (office.folder / "here").exists()


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("raise ValueError('no such client')", "ValueError: no such client"),
        ("raise SystemExit(3)", "3"),
    ],
)
def test_a_function_that_raises_fails_after_its_last_retry(office: Clerk, body: str, told: str) -> None:
    source = office.writes(
        "pipeline.py",
        "from sluice import app\n"
        "@app(job_id='{n}', identifiers={'n': 'int'}, max_fails=1)\n"
        f"def work(n):\n    {body}\n"
        "@app(job_id='{n}', identifiers={'n': 'int'}, depends_on={'app_name': ['work']})\n"
        "def after(n): ...\n",
    )
    said = office.types("--apps", source, "run", "after", "7")
    assert (said.code, said.document["jobs"]) == (1, {"failed": 1, "upstream_failed": 1})
    shown = office.asks("--apps", source, "show", "work", "7")
    assert (shown["state"], shown["fails"], len(shown["rounds"])) == ("failed", 2, 2)
    assert all(told in each["error"] for each in shown["rounds"])


def test_commands_show_the_rounds_and_the_history_of_a_failed_job(office: Clerk) -> None:
    office.defines({"A": command(max_fails=2), "B": command("A")})
    office.writes("A.exit", "3")
    source = ("--apps", "apps.json")
    submission = office.types(*source, "run", "B", "1").document["submission"]
    shown = office.asks(*source, "show", "A", "1")
    assert (shown["state"], shown["round"], shown["fails"], shown["losses"]) == ("failed", 2, 3, 0)
    assert [each["exit_code"] for each in shown["rounds"]] == [3, 3, 3]
    assert shown["children"] == [["B", "1", "upstream_failed"]]
    assert [step["to"] for step in shown["history"]] == (
        [
            "waiting",
            *["ready", "running", "executed", "waiting"] * 2,
            "ready",
            "running",
            "executed",
            "failed",
        ]
    )
    below = office.asks(*source, "show", "B", "1")
    assert (below["rounds"], below["parents"]) == ([], [["A", "1", "failed"]])
    assert [step["to"] for step in below["history"]] == ["waiting", "upstream_failed"]
    assert office.asks(*source, "submissions", submission)["state"] == "failed"
    assert names(office.asks(*source, "ls", "--state", "failed")) == ["A"]
    assert names(office.asks(*source, "ls", "--submission", submission)) == ["A", "B"]
    why = office.asks(*source, "why", "B", "1")
    assert [(each["app"], each["key"], each["state"]) for each in why["waits_for"]] == [("A", "1", "failed")]
    assert office.asks("db", "check") == {"breaches": []}


def test_two_concurrent_run_commands_for_one_job_run_it_once(office: Clerk, ledger_url: str) -> None:
    """The second command waits for the run of the first. Both report success."""
    office.defines({"A": {"job_id": "{x}", "bash_cmd": COMMAND}})
    typist = Typist(office.folder, SLUICE_LEDGER_URL=ledger_url, SLUICE_APPS="apps.json")
    with typist.starts("run", "A", "1", "--json") as one, typist.starts("run", "A", "1", "--json") as other:
        said = [ended(one), ended(other)]
    assert [each.code for each in said] == [0, 0], said
    assert [each.document["jobs"] for each in said] == [{"succeeded": 1}] * 2
    assert runs(office) == ["A"]


def known(office: Clerk) -> dict[str, State]:
    listed = office.asks("ls", "--limit", "1000")
    return {short(f"{job['app']}/{job['key']}"): State(job["state"]) for job in listed}


def names(listed: Sequence[dict[str, str]]) -> list[str]:
    return sorted(short(f"{job['app']}/{job['key']}") for job in listed)


def runs(office: Clerk) -> list[str]:
    """Return the job of every run, in order."""
    path = office.folder / "ran.txt"
    return [short(line) for line in path.read_text().splitlines()] if path.exists() else []


def short(job: str) -> str:
    """Return the short name of a job: with key 1, the name of its app."""
    return job.removesuffix("/1")
