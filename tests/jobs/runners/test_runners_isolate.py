"""Isolated functions, which run in a process of their own. They behave as in a thread, but can be ended."""

import json
import logging
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from sluice.jobs.keys.template import Template
from sluice.jobs.model.app import App
from sluice.jobs.model.job import KEPT_BYTES, Ending
from sluice.jobs.policy.policy import Policy
from sluice.jobs.runners.function import isolated
from sluice.jobs.runners.function.child_protocol import LINE_BYTES_MAX
from sluice.jobs.runners.process import process
from sluice.jobs.runners.stop_signal import Limits
from tests.jobs.runners.runner_bench import Bench, alive, error_of, eventually, isolated_app, pids_in


def test_a_function_runs_to_its_end(bench: Bench) -> None:
    outcome = bench.isolate("nothing")
    assert (outcome.ending, outcome.error, outcome.exit_code) == (Ending.DONE, None, 0)


def test_a_function_sees_its_job(bench: Bench) -> None:
    assignment = bench.assign(
        isolated_app("show_everything"),
        ids={"date": 20140101, "who": "é\u2028\x01", "big": 10**40},
        kwargs={"nested": {"a": [1, None, 2.5]}},
        work_ids=(1, "two"),
        span=("2024-04-01", "2024-04-07"),
        partitions=("2024-04-01", "2024-04-05"),
        round_=2,
        claim=5,
    )
    outcome = bench.run(assignment)
    assert json.loads(outcome.output) == {
        "date": 20140101,
        "app": "etl",
        "key": "20140101_7",
        "ids": {"date": 20140101, "who": "é\u2028\x01", "big": 10**40},
        "kwargs": {"nested": {"a": [1, None, 2.5]}},
        "work_ids": [1, "two"],
        "span": ["2024-04-01", "2024-04-07"],
        "partitions": ["2024-04-01", "2024-04-05"],
        "round": 2,
        "claim": 5,
        "token": assignment.token,
        "cancelled": False,
    }


def test_kwargs_of_any_size_reach_the_function(bench: Bench) -> None:
    outcome = bench.isolate("refuse", kwargs={"colour": "x" * 3_000_000})
    assert (outcome.ending, outcome.output[:3]) == (Ending.DONE, "xxx")


def test_kwargs_that_cannot_be_encoded_are_an_error(bench: Bench) -> None:
    outcome = bench.isolate("refuse", kwargs={"colour": object()})
    assert outcome.ending is Ending.ERROR
    assert "could not be started" in str(outcome.error)


def test_the_output_has_prints_and_log_lines_in_order(
    bench: Bench, worker_log: pytest.LogCaptureFixture
) -> None:
    outcome = bench.isolate("talk")
    lines = [line.rpartition("Z ")[2] for line in outcome.output.splitlines()]
    assert lines == ["first", "INFO second 2", "third", "DEBUG fourth"]
    assert outcome.stderr == "aside\n"
    assert bench.progress == [(1, 3), (2, None)]
    told = [(record.levelno, record.getMessage()) for record in worker_log.records]
    assert told == [(logging.INFO, "etl/20140101_7: second 2")]


def test_the_output_has_records_of_loggers_as_in_a_thread(bench: Bench) -> None:
    outcome = bench.isolate("talk_by_loggers")
    lines = [line.rpartition("Z ")[2] for line in outcome.output.splitlines()]
    assert (lines, outcome.stderr) == (["first", "INFO acme.shop: second 2", "third"], "")


def test_a_function_that_configures_logging_has_it_its_own_way(bench: Bench) -> None:
    outcome = bench.isolate("talk_by_loggers_of_its_own")
    assert (outcome.output, outcome.stderr) == ("", "as it likes\n")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("fail", "ValueError: no such day\n"),
        ("leave", "SystemExit: 3\n"),
        ("interrupt", "KeyboardInterrupt\n"),
        ("wait_and_fail", "KeyError: 'gone'\n"),
    ],
)
def test_an_exception_is_reported_with_the_frames_of_user_code_only(
    bench: Bench, name: str, told: str
) -> None:
    outcome = bench.isolate(name)
    assert outcome.ending is Ending.ERROR
    assert str(outcome.error).startswith(told)
    assert "jobs/runners" not in str(outcome.error).replace("tests/jobs/runners", "")
    assert "asyncio" not in str(outcome.error)
    assert outcome.exit_code == 1


def test_an_async_function_runs_to_its_end(bench: Bench) -> None:
    assert bench.isolate("wait_and_print").output == "waited\n"


def test_unexpected_kwargs_are_named_in_the_error(bench: Bench) -> None:
    outcome = bench.isolate("nothing", kwargs={"colour": "red"})
    assert outcome.error == "nothing() does not take the kwargs colour."


def test_a_missing_function_is_an_error_that_names_it(bench: Bench) -> None:
    outcome = bench.isolate("nobody")
    assert outcome.ending is Ending.ERROR
    assert "nobody" in str(outcome.error)


def test_a_module_that_cannot_be_imported_is_an_error(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("import sys\nsys.exit(4)\n")
    app = App(
        name="etl",
        origin="a test",
        job_type="python",
        isolate=True,
        template=Template.parse("{date}"),
        function_path=f"{tmp_path}/broken.py:f",
    )
    outcome = bench.run(bench.assign(app))
    assert outcome.ending is Ending.ERROR
    assert "SystemExit: 4" in str(outcome.error)


def test_a_module_is_found_on_the_path_of_the_worker(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_there.py").write_text("def f(): print('found')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    app = App(
        name="etl",
        origin="a test",
        job_type="python",
        isolate=True,
        template=Template.parse("{date}"),
        function_path="only_there:f",
    )
    assert bench.run(bench.assign(app)).output == "found\n"


def test_an_app_without_a_function_path_is_an_error_in_one_line(bench: Bench) -> None:
    app = App(name="etl", origin="a test", job_type="python", isolate=True, template=Template.parse("{date}"))
    outcome = bench.run(bench.assign(app))
    assert outcome.ending is Ending.ERROR
    assert outcome.error == "etl cannot be isolated: its function is not at the top of a module."


def test_a_child_killed_by_a_signal_is_reported_and_its_output_is_kept(bench: Bench) -> None:
    outcome = bench.isolate("kill_itself")
    assert (outcome.ending, outcome.error) == (Ending.ERROR, "killed by signal 9 (SIGKILL)")
    assert outcome.output == "last words\n"


def test_a_child_that_exits_without_reporting_its_end_has_failed(bench: Bench) -> None:
    outcome = bench.isolate("vanish")
    assert (outcome.ending, outcome.error) == (Ending.ERROR, "exited with 7 before its function had ended")


def test_a_hundred_megabytes_of_output_are_cut(bench: Bench) -> None:
    outcome = bench.isolate("print_much")
    assert outcome.ending is Ending.DONE
    assert len(outcome.output) <= 2 * KEPT_BYTES


def test_a_function_over_its_timeout_is_killed_and_its_output_is_kept(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.1)
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    outcome = bench.isolate("print_and_sleep", policy=Policy(timeout_s=1.5))
    assert (outcome.ending, outcome.error) == (Ending.TIMED_OUT, "It ran over its timeout of 1.5 s.")
    assert outcome.output == "a line\n"


def test_a_function_that_stops_on_request_hands_its_job_back(bench: Bench, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    running = bench.meanwhile(lambda: bench.isolate("stop_when_told", kwargs={"at": str(file)}))
    eventually(lambda: pids_in(file))
    bench.stop.set()
    outcome = running.result(timeout=process.GRACE_S)
    assert (outcome.ending, outcome.output) == (Ending.HANDED_BACK, "cleaned up\n")


def test_a_function_that_ignores_a_stop_is_killed_with_its_children(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_S", 0.1)
    file = tmp_path / "pids"
    kwargs = {"at": str(file)}
    running = bench.meanwhile(lambda: bench.isolate("start_another_and_never_stop", kwargs=kwargs))
    eventually(lambda: len(pids_in(file)) == 2)
    bench.stop.set()
    assert running.result(timeout=2).ending is Ending.HANDED_BACK
    eventually(lambda: not any(map(alive, pids_in(file))))


def test_a_thread_left_by_a_function_does_not_delay_its_result(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isolated, "LINGER_S", 0.2)
    monkeypatch.setattr(process, "GRACE_S", 0.1)
    outcome = bench.isolate("leave_a_thread_running", policy=Policy(timeout_s=60))
    assert (outcome.ending, outcome.error, outcome.output) == (Ending.DONE, None, "done\n")


def test_a_process_left_by_a_function_is_killed(bench: Bench) -> None:
    started = time.monotonic()
    outcome = bench.isolate("start_a_process_that_stays")
    assert (outcome.ending, outcome.output) == (Ending.DONE, "started it\n")
    assert time.monotonic() - started < 3


def test_a_function_gets_the_workers_environment_without_its_secrets(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANYTHING", "goes")
    monkeypatch.setenv("PYTHONPATH", "/its/own")
    monkeypatch.setenv("SLUICE_LEDGER_URL", "postgresql://u:s3cr3t@h/d")
    monkeypatch.setenv("PGPASSWORD", "s3cr3t")
    policy = Policy(cwd=str(tmp_path), env={"OWN": "1"}, env_from_os=("ANYTHING",))
    seen = json.loads(bench.isolate("show_surroundings", policy=policy, claim=4).output)
    env = seen["env"]
    assert "s3cr3t" not in str(env)
    assert (env["ANYTHING"], env["OWN"]) == ("goes", "1")
    assert (env["PYTHONPATH"], env["SLUICE_CLAIM"]) == ("/its/own", "4")
    assert (seen["cwd"], seen["stdin"]) == (str(tmp_path), "")
    assert str(tmp_path) not in seen["path"]
    ours = list(dict.fromkeys(str(Path(entry).absolute()) for entry in sys.path))
    assert seen["path"][: len(ours)] == ours


def test_a_missing_working_directory_is_an_error_that_names_it(bench: Bench) -> None:
    outcome = bench.isolate("nothing", policy=Policy(cwd="/not/there"))
    assert outcome.ending is Ending.ERROR
    assert "/not/there" in str(outcome.error)


def test_finished_partitions_are_acknowledged_one_by_one(bench: Bench) -> None:
    done: list[str] = []
    both = ("2024-04-01", "2024-04-02")
    step = bench.assign(isolated_app("acknowledge_two"), span=both, partitions=both)
    assert bench.run(step, acknowledge=done.append).ending is Ending.DONE
    assert done == ["2024-04-01", "2024-04-02"]
    assert "job.done() is not available" in str(bench.isolate("acknowledge_two").error)


def test_a_transaction_is_refused_with_a_clear_error(bench: Bench) -> None:
    outcome = bench.isolate("ask_for_a_transaction")
    assert outcome.ending is Ending.ERROR
    assert "job.transaction() is not available" in str(outcome.error)


def test_invalid_data_on_the_event_pipe_is_dropped(bench: Bench) -> None:
    assert bench.isolate("write_nonsense_to_every_descriptor").ending is Ending.DONE


def test_an_endless_line_on_the_event_pipe_takes_no_memory(bench: Bench) -> None:
    assignment = bench.assign(isolated_app("fine"))
    ear = isolated._Ear(Limits(threading.Event(), None), lambda *_: None, None, assignment)
    for _ in range(100):
        ear.hear(b"x" * 65536)
    ear.hear(b'\n{"type":"ended","ending":"done","error":null}\n')
    assert ear.ended is not None
    assert len(ear._begun) == 0
    ear.hear(b"x" * LINE_BYTES_MAX * 2)
    assert len(ear._begun) == 0


def test_children_of_a_function_do_not_inherit_the_event_pipe(bench: Bench) -> None:
    assert bench.isolate("list_descriptors_of_a_child").output.split() == ["0", "1", "2", "3"]


def test_a_missing_interpreter_is_an_error(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/not/there")
    outcome = bench.isolate("nothing")
    assert outcome.ending is Ending.ERROR
    assert "/not/there" in outcome.stderr


def test_a_temporary_file_that_cannot_be_created_is_an_error(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "TemporaryFile", Path("/not/there/errand").read_bytes)
    outcome = bench.isolate("nothing")
    assert outcome.ending is Ending.ERROR
    assert "could not be started" in str(outcome.error)


def test_fatal_and_retry_reach_the_worker(bench: Bench) -> None:
    fatal, retry = bench.isolate("stolen"), bench.isolate("busy")
    assert "Fatal: this card is stolen" in error_of(fatal)
    assert "Retry: the till is busy" in error_of(retry)
    assert [(each.final, each.retry_after_s) for each in (fatal, retry)] == [(True, None), (False, 300.0)]
