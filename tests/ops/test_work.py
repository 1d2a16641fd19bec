"""Submitting jobs, running them, and showing the results. Each test has its own day."""

import signal

from sluice.jobs.states import State
from tests.ops.typist import Typist, ended


def test_a_run_includes_missing_upstream_jobs_and_shows_the_results(desk: Typist) -> None:
    said = desk.types("run", "report", "2026-01-01", "--push", "wanted", "--json")
    assert said.code == 0, said.err
    assert said.document["state"] == "succeeded"
    assert said.document["jobs"] == {"succeeded": 3}

    shown = desk.asks("show", "report", "2026-01-01")
    assert (shown["app"], shown["key"], shown["state"], shown["round"]) == (
        "report",
        "20260101",
        "succeeded",
        0,
    )
    assert shown["submissions"] == [said.document["submission"]]
    assert [(step["from"], step["to"]) for step in shown["history"]] == [
        (None, "waiting"),
        ("waiting", "ready"),
        ("ready", "running"),
        ("running", "executed"),
        ("executed", "succeeded"),
    ]
    assert all({"at", "from", "to", "by", "note"} <= step.keys() for step in shown["history"])
    (once,) = shown["rounds"]
    assert {"round", "worker", "at", "exit_code", "output", "error"} <= once.keys()
    assert once["at"].keys() == {"running", "executed"}
    assert (once["round"], once["exit_code"], once["output"]) == (0, 0, "the report of 20260101\n")
    assert shown["parents"] == [["fetch", f"20260101_{shop}", "succeeded"] for shop in ("graz", "oslo")]
    assert shown["children"] == []
    assert {"fails", "timeouts", "losses", "not_before", "end_before"} <= shown.keys()


def test_a_submission_of_which_nothing_runs_says_how_to_repeat_the_jobs(desk: Typist) -> None:
    note = "Nothing ran, because all of these jobs had succeeded before. --rerun job runs them again."
    words = ("run", "fetch", "20260103_oslo", "--push", "wanted")
    assert note not in desk.types(*words).out
    assert desk.types(*words).out.splitlines()[-1] == note
    assert note not in desk.types(*words, "--rerun", "job").out


SPEAKER = """
from sluice import app

@app(job_id="{n}")
def speak(job, n):
    print("printed in the job", n)
    job.log.warning("logged in the job %s", n)
"""


def test_a_run_shows_the_output_of_its_jobs_on_request(desk: Typist) -> None:
    words = ("run", "fetch", "20260104_oslo", "--push", "wanted", "--rerun", "job")
    assert "fetching oslo" not in desk.types(*words).out
    assert desk.types(*words, "--logs").out.startswith("fetching oslo\n")
    said = desk.types(*words, "--logs", "--json")
    assert (said.document["state"], "fetching oslo" in said.err) == ("succeeded", True)

    desk.write("speaker.py", SPEAKER)
    said = desk.types("--apps", "speaker.py", "run", "speak", "1", "--logs")
    printed, logged, *_ = said.out.splitlines()
    assert (printed, logged.partition("Z ")[2]) == ("printed in the job 1", "WARNING logged in the job 1")
    assert "logged" not in said.err


COUNTER = """
from sluice import app

@app(job_id="{n}", max_fails=0)
def count_lines(n):
    for line in range(12):
        print("line", line)
    raise ValueError("no more")
"""


def test_the_last_lines_of_a_failed_job_are_shown_at_the_end(desk: Typist) -> None:
    desk.write("counter.py", COUNTER)
    words = ("--apps", "counter.py", "run", "count_lines")
    _, end = desk.types(*words, "1").out.split("sluice logs count_lines 1\n")
    *shown, verdict = end.splitlines()
    assert shown == ["    … 2 lines before", *(f"    line {line}" for line in range(2, 12))]
    assert verdict.startswith("failed: 1 failed in ")
    _, end = desk.types(*words, "2", "--logs").out.split("sluice logs count_lines 2\n")
    assert "line" not in end


def test_a_failed_job_is_reported_with_its_error_and_a_command(desk: Typist) -> None:
    said = desk.types("run", "report", "20260102")
    assert said.code == 1
    table, trouble = said.out.split("publish/20260102 ", 1)
    assert [line.split()[:2] for line in table.splitlines()] == [
        ["app", "jobs"],
        ["fetch", "2"],
        ["report", "1"],
        ["publish", "1"],
    ]
    assert trouble.splitlines()[:2] == [
        "failed in round 1: exited with 3",
        "  sluice logs publish 20260102",
    ]
    assert trouble.splitlines()[2] == "    trying"
    assert trouble.splitlines()[3].startswith("failed: 3 succeeded, 1 failed in ")

    logs = desk.asks("logs", "publish", "20260102")
    assert [(each["round"], each["output"], each["exit_code"]) for each in logs["rounds"]] == [
        (0, "trying\n", 3),
        (1, "trying\n", 3),
    ]
    assert "round 1 on" in desk.types("logs", "publish", "20260102", "--round", "1").out
    assert desk.types("logs", "publish", "20260102", "--round", "7").code == 2
    why = desk.asks("why", "publish", "20260102")
    assert why["because"] == "publish/20260102 has failed in round 1: exited with 3"
    assert "sluice retry publish 20260102" in [each["command"] for each in why["remedies"]]

    again = desk.types("retry", "publish", "20260102", "--json")
    assert again.document["state"] == "received"
    assert desk.asks("cancel", again.document["submission"]) == {"cancelled": 0}
    graph = desk.asks("graph", "publish", "20260102")
    assert {node["id"]: node["state"] for node in graph["nodes"]}["publish/20260102"] == "failed"


def test_a_submission_waits_for_a_worker(desk: Typist) -> None:
    keys = "2026-01-03_oslo\n\n20260103_graz\n"
    words = ("submit", "fetch", "--keys-from", "-", "--push", "wanted", "--id", "three", "--json")
    assert desk.types(*words, given=keys).document == {"submission": "three", "state": "received"}
    assert desk.types(*words, given=keys).document == {"submission": "three", "state": "received"}

    why = desk.asks("why", "fetch", "20260103_graz")
    assert why["state"] is None
    assert [each["what"] for each in why["waits_for"]] == ["submission three to be planned"]
    assert "sluice up" in [each["command"] for each in why["remedies"]]

    said = desk.types("up", "--drain", "--json")
    assert (said.code, said.document["ended"]) == (0, "drained")
    listed = desk.asks(
        "ls", "--submission", "three", "--state", "succeeded", "--app", "fetch", "--since", "1h"
    )
    assert sorted(job["key"] for job in listed) == ["20260103_graz", "20260103_oslo"]
    (found,) = (each for each in desk.asks("submissions") if each["id"] == "three")
    assert (found["app"], found["state"], found["keys"]) == ("fetch", "succeeded", 2)
    assert desk.asks("submissions", "three")["jobs"] == {"succeeded": 2}
    assert desk.asks("db", "check") == {"breaches": []}


def test_up_serves_other_processes_until_it_is_stopped(desk: Typist) -> None:
    with desk.starts("up") as up:
        said = desk.types("submit", "fetch", "20260104_oslo", "--push", "wanted", "--wait", "--json")
        assert (said.code, said.document["jobs"]) == (0, {"succeeded": 1})
        (worker,) = desk.asks("workers")
        assert (worker["pid"], worker["queues"], worker["alive"]) == (up.pid, [], True)
        up.send_signal(signal.SIGTERM)
        assert ended(up, within_s=5).code == 0
    assert desk.types("workers").out.startswith("No worker is running.")


def test_an_interrupted_run_hands_back_its_jobs(desk: Typist) -> None:
    with desk.starts("run", "nap", "60", "--push", "wanted", "--json") as run:
        desk.waits_until("nap", "60", State.RUNNING)
        run.send_signal(signal.SIGINT)
        said = ended(run, within_s=10)
    assert said.code == 130
    assert (said.document["state"], said.document["interrupted"]) == ("active", True)
    assert "Interrupted" in said.err
    shown = desk.asks("show", "nap", "60")
    assert (shown["state"], shown["round"]) == ("ready", 0)
    assert desk.asks("why", "nap", "60")["waits_for"][0]["what"] == "a worker on queue nap"

    assert desk.asks("cancel", said.document["submission"]) == {"cancelled": 1}
    again = desk.types("cancel", "nap", "60")
    assert (again.code, "nothing left to cancel" in again.err) == (2, True)


def test_a_submission_is_accepted_while_the_broker_is_down(desk: Typist) -> None:
    said = desk.types("submit", "mail", "20260105", "--id", "five", SLUICE_BROKER_URL="amqp://127.0.0.1:1")
    assert (said.code, said.out) == (0, "five\n")
    assert len(said.err.splitlines()) == 1
    assert "the broker amqp://127.0.0.1:1 is unreachable; work that needs it waits" in said.err
    assert "RabbitMQ cannot be used" in said.err
    assert desk.types("up", SLUICE_BROKER_URL="amqp://127.0.0.1:1").code == 3
    assert desk.asks("cancel", "five") == {"cancelled": 0}


def test_nothing_but_the_document_reaches_stdout(desk: Typist) -> None:
    said = desk.types("--apps", "noisy.py", "run", "noisy", "1", "--json")
    assert said.document["state"] == "succeeded"
    for words in ("prints while it is loaded", "and so does its job", "even through a child"):
        assert words in said.err


def test_logs_are_followed_to_the_end(desk: Typist) -> None:
    with desk.starts("run", "nap", "2", "--push", "wanted") as run:
        desk.waits_until("nap", "2", State.RUNNING)
        said = desk.types("logs", "nap", "2", "--follow", "--json")
        assert ended(run).code == 0
    assert said.code == 0
    assert [line[:10] for line in said.out.splitlines()] == ['{"round":0']
