"""``sluice run --bypass`` runs the code of the jobs and nothing else. No ledger answers in these tests."""

import signal
import time
from pathlib import Path

import pytest

from tests.ops.typist import NO_LEDGER, Typist, ended

APPS = {
    "greet": {
        "job_id": "{date}_{shop}",
        "identifiers": {"date": "date"},
        "bash_cmd": "echo {date} in {shop}; echo aside >&2",
    },
    "fail": {"job_id": "{n}", "bash_cmd": "echo trying; exit 3", "max_fails": 5},
    "child": {
        "job_id": "{n}",
        "depends_on": {"app_name": ["fail"], "n": ["1"]},
        "valid_if_or": {"n": ["1"]},
        "bash_cmd": "echo ran {n}",
    },
    "sleep": {"job_id": "{n}", "bash_cmd": "echo $$ > pid; sleep 60"},
    "env": {
        "job_id": "{n}",
        "bash_cmd": "echo $SLUICE_CLAIM $SLUICE_ROUND $COLOUR ${{#SLUICE_TOKEN}}",
        "env": {"COLOUR": "red"},
    },
    "far": {"job_id": "{n}", "job_type": "grid.py:Grid"},
    "week": {"partition": "day", "bash_cmd": "echo {start} to {end}"},
}
FUNCTIONS = """
from sluice import app

@app(job_id="{n}", identifiers={"n": "int"})
def add(job, n, more=0):
    print("sum", n + more)
    job.log.warning("noted")

@app(job_id="{n}")
def write(job):
    with job.transaction():
        pass

@app(job_id="{n}", isolate=True)
def alone(job, n):
    print("alone", job.claim)

@app(partition="day")
def days(job):
    for day in job.partitions:
        job.done(day)
"""
GRID = """
class Grid:
    poll_s = 0.01

    def run(self, job):
        job.log.info("starting")
        return job.key

    def check(self, handle):
        return "running" if handle == "long" else "succeeded"

    def cancel(self, handle):
        open("ended", "w").write(handle)
"""


@pytest.fixture
def here(tmp_path: Path) -> Typist:
    typist = Typist(
        tmp_path,
        SLUICE_LEDGER_URL=NO_LEDGER,
        SLUICE_APPS="apps.json,functions.py",
        SLUICE_HOME=f"{tmp_path}/home",
    )
    typist.apps("apps.json", APPS)
    typist.write("functions.py", FUNCTIONS)
    typist.write("grid.py", GRID)
    return typist


def _bypass(here: Typist, *words: str, **settings: str) -> list[dict[str, object]]:
    """Return the outcome of each job."""
    jobs: list[dict[str, object]] = here.types("run", "--bypass", "--json", *words, **settings).document[
        "jobs"
    ]
    return jobs


def test_keys_run_one_after_another_and_print_to_the_terminal(here: Typist) -> None:
    said = here.types("run", "--bypass", "greet", "2026-01-01_oslo", "20260102_graz")
    assert said.code == 0
    assert said.out == "20260101 in oslo\n20260102 in graz\n"
    assert [line.partition(" in ")[0] for line in said.err.splitlines()] == [
        "aside",
        "greet/20260101_oslo: done",
        "aside",
        "greet/20260102_graz: done",
    ]


def test_with_json_stdout_has_nothing_but_the_document(here: Typist) -> None:
    said = here.types("run", "--bypass", "greet", "2026-01-01_oslo", "--json")
    (job,) = said.document["jobs"]
    assert job.pop("took_s") >= 0
    assert job == {
        "app": "greet",
        "key": "20260101_oslo",
        "ending": "done",
        "exit_code": 0,
        "error": None,
        "output": "20260101 in oslo\n",
        "result": None,
        "output_blob": None,
        "stderr_blob": None,
        "log": "",
    }


def test_a_failed_key_is_not_tried_again_and_the_next_one_runs(
    here: Typist,
) -> None:
    said = here.types("run", "--bypass", "fail", "1", "2")
    assert (said.code, said.out) == (1, "trying\ntrying\n")
    assert said.err.count("exited with 3") == 2


def test_neither_ledger_nor_embedded_postgres_is_touched(here: Typist) -> None:
    for ledger in (NO_LEDGER, ""):
        assert _bypass(here, "child", "1", SLUICE_LEDGER_URL=ledger)[0]["ending"] == "done"
    assert not (here.folder / "home").exists()
    assert not (here.folder / ".sluice").exists()


def test_a_key_runs_although_no_group_and_no_filter_accepts_it(here: Typist) -> None:
    assert _bypass(here, "child", "77")[0]["output"] == "ran 77\n"


def test_a_run_without_a_claim_has_number_0_and_a_token(here: Typist) -> None:
    assert _bypass(here, "env", "1")[0]["output"] == "0 0 red 32\n"


def test_kwargs_and_the_policy_of_the_run_apply(here: Typist) -> None:
    said = here.types("run", "--bypass", "add", "1", "--kwargs", '{"more": 41}')
    assert said.code == 0
    assert said.out.splitlines()[0] == "sum 42"
    assert said.out.splitlines()[1].endswith("WARNING noted")
    assert "noted" not in said.err
    (slow,) = _bypass(here, "sleep", "1", "--timeout", "300ms")
    assert (slow["ending"], slow["error"]) == ("timed_out", "It ran over its timeout of 0.3 s.")


def test_with_json_the_document_has_what_a_function_printed_and_logged(here: Typist) -> None:
    said = here.types("run", "--bypass", "add", "1", "--json")
    printed, logged = said.document["jobs"][0]["output"].splitlines()
    assert (printed, logged.partition("Z ")[2]) == ("sum 1", "WARNING noted")


def test_the_output_of_an_isolated_function_is_printed(here: Typist) -> None:
    assert here.types("run", "--bypass", "alone", "1").out == "alone 0\n"


def test_a_range_of_partitions_runs_as_one_job(here: Typist) -> None:
    (week,) = _bypass(here, "week", "2024-04-01..2024-04-07")
    assert week["output"] == "2024-04-01 to 2024-04-07\n"
    (days,) = _bypass(here, "days", "2024-04-01..2024-04-02")
    assert (days["ending"], days["error"]) == ("done", None)


def test_there_is_no_transaction(here: Typist) -> None:
    (job,) = _bypass(here, "write", "1")
    assert "job.transaction() needs the ledger, and --bypass runs without one." in str(job["error"])


def test_external_work_is_polled_until_it_ends(here: Typist) -> None:
    (job,) = _bypass(here, "far", "1")
    assert job["ending"] == "done"
    assert str(job["output"]).endswith("INFO starting\n")


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("greet 2026-01-01", ["is not a key of greet", "{date}_{shop}"]),
        ("gret 2026-01-01_oslo", ["no app 'gret'", "did you mean greet?"]),
        ("greet", ["runs only named keys", "sluice run --bypass greet"]),
        ("fail 1 --id x --rerun job", ["does not support --id, --rerun"]),
        ("fail 1 --timeout soon", ["timeout", "'soon' is not a duration"]),
    ],
)
def test_bad_arguments_are_refused_before_any_key_runs(here: Typist, typed: str, words: list[str]) -> None:
    said = here.types("run", "--bypass", *typed.split())
    assert (said.code, said.out) == (2, "")
    assert [word for word in words if word not in said.err] == []


def test_a_bad_key_keeps_the_keys_before_it_from_running(here: Typist) -> None:
    said = here.types("run", "--bypass", "greet", "2026-01-01_oslo", "nonsense")
    assert (said.code, said.out) == (2, "")


def test_an_interrupt_ends_the_process_group_and_starts_no_other_key(here: Typist) -> None:
    with here.starts("run", "--bypass", "sleep", "1", "2", "--json") as run:
        pid = _written(here.folder / "pid")
        run.send_signal(signal.SIGINT)
        said = ended(run, within_s=10)
    assert said.code == 130
    assert [(job["key"], job["ending"]) for job in said.document["jobs"]] == [("1", "handed_back")]
    assert not Path(f"/proc/{pid}").exists()


def test_an_interrupt_ends_external_work(here: Typist) -> None:
    with here.starts("run", "--bypass", "far", "long") as run:
        assert run.stdout is not None
        assert run.stdout.readline().endswith("INFO starting\n")
        run.send_signal(signal.SIGINT)
        assert ended(run, within_s=10).code == 130
    assert (here.folder / "ended").read_text() == "long"


def _written(file: Path) -> int:
    """Wait until a job has written its process ID to this file. Return the ID."""
    deadline = time.monotonic() + 20
    while not (file.exists() and file.read_text().endswith("\n")):
        assert time.monotonic() < deadline, "the job did not begin"
        time.sleep(0.02)
    return int(file.read_text())
