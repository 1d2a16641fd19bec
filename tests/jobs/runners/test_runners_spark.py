"""Spark jobs: the configuration of a run, and the values that ``main`` gets for its arguments.

Only the last test needs Spark. The other tests pass in a fake session.
"""

import importlib.util
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from sluice.jobs.keys.template import Template
from sluice.jobs.model.app import App
from sluice.jobs.model.job import Ending, Job, Outcome
from sluice.jobs.model.spark import Spark
from sluice.jobs.policy.policy import Policy
from sluice.jobs.runners.function.spark_session import perform_on_spark
from sluice.jobs.runners.function.spark_settings import for_run
from sluice.jobs.runners.output import job_log
from tests.jobs.runners.runner_bench import Bench, error_of

READ = Spark(read_fp="in.txt")


class Rdd:
    """Fake RDD: its values, and the operations on it."""

    def __init__(self, values: list[Any], done: list[tuple[Any, ...]]) -> None:
        self.values = values
        self._done = done

    def map(self, function: Callable[[Any], Any]) -> "Rdd":
        return Rdd([function(value) for value in self.values], self._done)

    def sample(self, replace: bool, share: float) -> "Rdd":
        self._done.append(("sample", replace, share))
        return self

    def count(self) -> int:
        self._done.append(("count", self.values))
        return len(self.values)

    def saveAsTextFile(self, path: str) -> None:  # noqa: N802 - it is Spark's own name
        self._done.append(("save", path, self.values))


class Session:
    """Fake Spark session, which is also its context. Every text file that it reads has the given lines."""

    def __init__(self, *lines: str) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.opened: tuple[Mapping[str, str], str] | None = None
        self.sparkContext = self
        self._lines = list(lines)

    def open(self, properties: Mapping[str, str], module: str) -> "Session":
        self.opened = (properties, module)
        return self

    def textFile(self, path: str, partitions: int | None) -> Rdd:  # noqa: N802 - it is Spark's own name
        self.done.append(("textFile", path, partitions))
        return Rdd(self._lines, self.done)

    def stop(self) -> None:
        self.done.append(("stop",))


def _job(bench: Bench, **words: Any) -> Job:
    assignment = bench.assign(_app(), **words)
    log = job_log(assignment.name, write=lambda _: None, tell=lambda *_: None)
    return Job(assignment, report=lambda *_: None, log=log, cancelled=lambda: False)


def _app(spark: Spark | None = None, policy: Policy | None = None, path: str | None = None) -> App:
    return App(
        name="etl",
        origin="a test",
        job_type="pyspark",
        template=Template.parse("{date}_{client_id}"),
        spark=spark or Spark(),
        policy=policy or Policy(),
        function_path=path,
    )


def _perform(bench: Bench, session: Session, main: Callable[..., Any], spark: Spark | None = None) -> Outcome:
    return perform_on_spark(spark or Spark(), main, _job(bench, kwargs={"colour": "red"}), session.open)


# Configuration of a run.


def test_by_default_a_run_is_local_and_named_after_its_job(bench: Bench) -> None:
    plain = for_run(Spark(), bench.assign(_app()), {})
    assert plain.conf["spark.master"] == "local[*]"
    assert plain.conf["spark.app.name"] == "etl/20140101_7"
    conf = {"spark.master": "yarn", "spark.app.name": "mine"}
    told = for_run(Spark(conf=conf), bench.assign(_app()), {})
    assert told.conf.items() >= conf.items()


def test_uris_are_appended_to_the_configured_files_by_their_kind(bench: Bench) -> None:
    spark = Spark(conf={"spark.jars": "own.jar"}, uris=("a.py", "s3://b/c.zip", "d.jar", "e.egg"))
    conf = for_run(spark, bench.assign(_app()), {}).conf
    assert conf["spark.submit.pyFiles"] == "a.py,s3://b/c.zip,e.egg"
    assert conf["spark.jars"] == "own.jar,d.jar"


def test_executors_get_the_option_env_and_not_env_from_os(bench: Bench) -> None:
    policy = Policy(env={"COLOUR": "red"}, env_from_os=("HOME",))
    conf = for_run(Spark(), bench.assign(_app(policy=policy)), policy.env).conf
    assert {name: text for name, text in conf.items() if "Env" in name} == {"spark.executorEnv.COLOUR": "red"}


def test_values_are_inserted_into_paths_unchanged(bench: Bench) -> None:
    spark = Spark(read_fp="s3://{app_name}/{date}/{{x}}/*", write_fp="out/{job_id}")
    made = for_run(spark, bench.assign(_app(), ids={"date": "a b'c"}), {})
    assert (made.read_fp, made.write_fp) == ("s3://etl/a b'c/{x}/*", "out/20140101_7")

    chunk = bench.assign(_app(), ids={}, work_ids=(1, 2, 3, 7))
    assert for_run(Spark(read_fp="ids/{work_ids}"), chunk, {}).read_fp == "ids/1-3,7"


# Arguments of ``main``.


def _read_lines(textFile: Rdd) -> Rdd:  # noqa: N803 - its value is chosen by this name
    return textFile


def test_main_gets_the_context_the_session_the_job_and_the_identifiers_by_name(bench: Bench) -> None:
    got: list[Any] = []

    def main(date: int, sc: Any, job: Job, spark: Any, colour: str) -> None:
        got.extend([date, sc, job.key, spark, colour])

    session = Session()
    conf = {"spark.master": "local[1]"}
    assert _perform(bench, session, main, Spark(conf=conf)).ending is Ending.DONE
    assert got == [20140101, session, "20140101_7", session, "red"]
    assert session.opened == (conf, __name__)
    assert session.done == [("stop",)]


def test_main_gets_the_lines_that_were_read(bench: Bench) -> None:
    def main(textFile: Rdd, job: Job) -> Rdd:  # noqa: N803 - its value is chosen by this name
        return textFile.map(lambda each: each["n"] + 1)

    session = Session('{"n": 1}', '{"n": 2}')
    spark = Spark(read_fp="in.txt", write_fp="out", mapjson=True, sample=0.5, min_partitions=8)
    assert _perform(bench, session, main, spark).ending is Ending.DONE
    assert session.done == [
        ("textFile", "in.txt", 8),
        ("sample", False, 0.5),
        ("save", "out", [2, 3]),
        ("stop",),
    ]


def test_main_is_mapped_over_the_lines_if_it_takes_elem(bench: Bench) -> None:
    def main(elem: str, date: int, colour: str) -> str:
        return f"{elem} {date} {colour}"

    session = Session("a", "b")
    assert _perform(bench, session, main, READ).ending is Ending.DONE
    assert session.done[1] == ("count", ["a 20140101 red", "b 20140101 red"])


def test_a_main_that_returns_no_rdd_for_write_fp_is_an_error(bench: Bench) -> None:
    def main(sc: Any, colour: str) -> int:
        return 7

    outcome = _perform(bench, Session(), main, Spark(write_fp="out"))
    assert error_of(outcome) == "main() has to return an RDD to be saved to write_fp, and not int."


@pytest.mark.parametrize(
    ("main", "spark", "words"),
    [
        (lambda date: None, Spark(), "has to take at least one parameter of sc, spark, textFile, elem"),
        (_read_lines, Spark(), "takes textFile, but the app has no read_fp"),
        (lambda elem: None, Spark(), "takes elem, but the app has no read_fp"),
        (lambda elem, sc: None, READ, "it runs on the executors"),
        (lambda elem, job: None, READ, "it runs on the executors"),
    ],
)
def test_a_main_that_cannot_be_called_is_an_error_before_spark_starts(
    bench: Bench, main: Callable[..., Any], spark: Spark, words: str
) -> None:
    session = Session()
    assert words in error_of(_perform(bench, session, main, spark))
    assert session.opened is None


def test_unexpected_kwargs_of_main_are_named_in_the_error(bench: Bench) -> None:
    def main(sc: Any) -> None: ...

    assert "main() does not take the kwargs colour." in error_of(_perform(bench, Session(), main))


def test_an_exception_of_main_is_reported_with_user_frames_and_spark_is_stopped(bench: Bench) -> None:
    def main(sc: Any, colour: str) -> None:
        raise KeyError(colour)

    session = Session()
    told = error_of(_perform(bench, session, main))
    assert told.startswith("KeyError: 'red'\n")
    assert "session.py" not in told
    assert session.done == [("stop",)]


def test_a_session_that_cannot_be_opened_fails_the_job(bench: Bench) -> None:
    def refuse(*_: object) -> Any:
        raise RuntimeError("Java gateway process exited")

    outcome = perform_on_spark(Spark(), lambda sc: None, _job(bench), refuse)
    assert error_of(outcome).startswith("RuntimeError: Java gateway process exited")


def test_a_session_that_fails_to_stop_does_not_change_the_outcome(bench: Bench) -> None:
    class Stuck(Session):
        def stop(self) -> None:
            raise ConnectionError("Spark is gone")

    assert _perform(bench, Stuck(), lambda sc, colour: None).ending is Ending.DONE


# Runs in a process of their own.


def _in_its_process(bench: Bench, folder: Path, text: str, **words: Any) -> Outcome:
    module = folder / "features.py"
    module.write_text(text)
    return bench.run(bench.assign(_app(path=f"{module}:main", **words)))


def test_without_spark_the_job_fails_with_an_instruction_to_install_it(bench: Bench, tmp_path: Path) -> None:
    if importlib.util.find_spec("pyspark"):
        pytest.skip("pyspark is installed here; the test is about where it is not")
    outcome = _in_its_process(bench, tmp_path, "import pyspark\ndef main(sc): ...\n")
    assert error_of(outcome) == (
        "pyspark is not installed here. Every worker that serves this app needs it: pip install 'sluice-jobs[spark]'"
    )


def test_a_job_runs_on_real_spark(bench: Bench, tmp_path: Path) -> None:
    if importlib.util.find_spec("pyspark") is None or shutil.which("java") is None:
        pytest.skip("pip install 'sluice-jobs[spark]', and Java 17, to run a job on Spark itself")
    (tmp_path / "extra.py").write_text("def double(n): return 2 * n\n")
    (tmp_path / "lines").write_text('{"n": 1}\n{"n": 2}\n')
    text = """
from extra import double

def own(n):
    return double(n)

def main(textFile):
    return textFile.map(lambda each: own(each["n"]))
"""
    spark = Spark(
        conf={"spark.master": "local[1]", "spark.ui.enabled": "false"},
        uris=(str(tmp_path / "extra.py"),),
        read_fp=str(tmp_path / "lines"),
        write_fp=f"{tmp_path}/out_{{date}}",
        mapjson=True,
        min_partitions=1,
    )
    outcome = _in_its_process(bench, tmp_path, text, spark=spark)
    assert outcome.ending is Ending.DONE, outcome.error
    assert (tmp_path / "out_20140101" / "part-00000").read_text() == "2\n4\n"
