"""Session of one Spark job, in its own process: ``main`` gets its arguments from Spark, and its result is saved.

    main(sc, …)           the SparkContext
    main(spark, …)        the SparkSession; both may be requested
    main(textFile, …)     the content of ``read_fp``, as an RDD of its lines
    main(elem, …)         one line of it: ``main`` is mapped over all lines, on the executors

``main`` also takes the identifiers and kwargs by name, and ``job`` if it runs on the driver. With ``write_fp``, the RDD
that ``main`` returns, or was mapped to, is saved there. The module of ``main`` travels to the executors by value. The
modules that it imports must be installed there or be among the ``uris``.
"""

import importlib.util
import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from sluice.jobs.model.job import Ending, Job, Outcome
from sluice.jobs.model.spark import Spark
from sluice.jobs.runners.function.call import Finish, FunctionCall, account, perform
from sluice.jobs.runners.run_outcome import failed

#: Opens a session with these properties; the second argument is the function's module.
Opens = Callable[[Mapping[str, str], str], Any]

#: Arguments that Spark supplies, and the subset for which ``read_fp`` is read.
_GIVEN = ("sc", "spark", "textFile", "elem")
_READ = ("textFile", "elem")


def missing_spark() -> str | None:
    """Return an error if Spark is not installed, or None."""
    if importlib.util.find_spec("pyspark") is not None:
        return None
    return "pyspark is not installed here. Every worker that serves this app needs it: pip install 'sluice-jobs[spark]'"


def open_session(properties: Mapping[str, str], module: str) -> Any:
    """Return a session in this process. The properties override Spark's own defaults."""
    from pyspark import cloudpickle  # noqa: PLC0415  # It need not be installed.
    from pyspark.sql import SparkSession  # noqa: PLC0415  # It need not be installed.

    if properties.get("spark.master", "").startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cloudpickle.register_pickle_by_value(sys.modules[module])
    builder = SparkSession.builder
    for name, text in properties.items():
        builder = builder.config(name, text)
    return builder.getOrCreate()


def perform_on_spark(
    spark: Spark, main: Callable[..., Any], job: Job, opens: Opens = open_session
) -> Outcome:
    """Call ``main`` to its end in a session of its own."""
    parameters = inspect.signature(main).parameters
    wanted = tuple(name for name in _GIVEN if name in parameters)
    complaint = _complaint(spark, wanted, by_job="job" in parameters)
    if complaint:
        return failed(complaint)
    try:
        session = opens(spark.conf, main.__module__)
    except BaseException as error:
        # Spark and the processes it starts may raise anything, like user code.
        return failed(account(error))
    try:
        return perform(FunctionCall(_driver(spark, main, wanted, session)), job, _finish(spark, wanted))
    finally:
        _stop(session, job)


def _stop(session: Any, job: Job) -> None:
    """Stop the session. The job's outcome is kept even if Spark is not running any more."""
    try:
        session.stop()
    except Exception as error:
        job.log.warning("Spark did not stop cleanly: %s", error)


def _complaint(spark: Spark, wanted: tuple[str, ...], *, by_job: bool) -> str | None:
    """Return why this ``main`` cannot be called, before Spark is started for it."""
    if not wanted:
        return (
            f"main() has to take at least one parameter of {', '.join(_GIVEN)}, through which it uses Spark."
        )
    read = [name for name in _READ if name in wanted]
    if read and spark.read_fp is None:
        return f"main() takes {read[0]}, but the app has no read_fp to read it from."
    if "elem" in wanted and (len(wanted) > 1 or by_job):
        return "main() takes elem, so it runs on the executors, which have only identifiers, no job and no Spark."
    return None


def _driver(spark: Spark, main: Callable[..., Any], wanted: tuple[str, ...], session: Any) -> Any:
    """Return ``main`` as a function of the job's arguments. Its other arguments come from Spark."""
    sources: dict[str, Callable[[], Any]] = {
        "sc": lambda: session.sparkContext,
        "spark": lambda: session,
        "textFile": lambda: _lines(spark, session.sparkContext),
    }

    def drive(**named: object) -> object:
        if "elem" in wanted:
            return _lines(spark, session.sparkContext).map(lambda elem: main(elem=elem, **named))
        return main(**{name: sources[name]() for name in wanted}, **named)

    signature = inspect.signature(main)
    left = [each for each in signature.parameters.values() if each.name not in wanted]
    drive.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined] # inspect looks there first
    drive.__qualname__ = main.__qualname__
    return drive


def _lines(spark: Spark, sc: Any) -> Any:
    lines = sc.textFile(spark.read_fp, spark.min_partitions)
    if spark.sample is not None:
        lines = lines.sample(False, spark.sample)  # noqa: FBT003  # Spark's positional order: without replacement.
    return lines.map(json.loads) if spark.mapjson else lines


def _finish(spark: Spark, wanted: tuple[str, ...]) -> Finish | None:
    """Return the function that saves or counts the result. An RDD computes nothing before that."""

    def save(result: Any) -> Outcome:
        if not hasattr(result, "saveAsTextFile"):
            return failed(
                f"main() has to return an RDD to be saved to write_fp, and not {type(result).__name__}."
            )
        result.saveAsTextFile(spark.write_fp)
        return Outcome(ending=Ending.DONE)

    def count(result: Any) -> Outcome:
        result.count()
        return Outcome(ending=Ending.DONE)

    if spark.write_fp is not None:
        return save
    return count if "elem" in wanted else None
