"""Work of an app's jobs: its type, and the command or function."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from sluice.jobs.catalogue.draft import Entry, Work
from sluice.jobs.catalogue.faults import At, nearest
from sluice.jobs.catalogue.functions import find_function, source_of
from sluice.jobs.catalogue.managed import as_manager, find_manager
from sluice.jobs.catalogue.program import read_program
from sluice.jobs.catalogue.sagas import SAGA_WORDS, read_saga
from sluice.jobs.catalogue.spark import SPARK_WORDS, read_spark
from sluice.jobs.policy import UNENDING, Policy
from sluice.jobs.program import PROGRAM_WORDS
from sluice.jobs.runners.braces import OF_EVERY_JOB
from sluice.jobs.runners.placeholders import placeholders

#: Built-in types. A type can also be the path of the user's job manager.
JOB_TYPES = ("bash", "python", "pyspark", "program", "saga")
WORK_WORDS = (
    "job_type",
    "bash_cmd",
    "function",
    "isolate",
    "is_long_running",
    *SPARK_WORDS,
    *PROGRAM_WORDS,
    *SAGA_WORDS,
)
#: Options of each type. An app may only have the options of its own type.
_WORDS_OF = {
    "bash": ("bash_cmd", "isolate"),
    "python": ("function", "isolate"),
    "pyspark": SPARK_WORDS,
    "program": PROGRAM_WORDS,
    "saga": ("function", *SAGA_WORDS, "debug"),
}


def read_work(words: Mapping[str, object], entry: Entry, names: Sequence[str] | None, at: At) -> Work:
    """Return the work of an app. A fault in one option does not prevent the check of the others.

    ``names`` are the placeholders that the jobs provide, or None if they are unknown.
    """
    isolate = words.get("isolate", False)
    if not isinstance(isolate, bool):
        at.add(f"isolate: {isolate!r} is neither true nor false")
        isolate = False
    job_type = _job_type(words, entry, at)
    _refuse_words_of_others(words, entry, job_type, at)
    unbounded = _is_unbounded(words, job_type, at)
    if job_type == "python":
        return _python(words, entry, at, isolate=isolate)
    if job_type == "pyspark":
        return read_spark(words, entry, names or (), at)
    if job_type == "program":
        return read_program(words, names, at)
    if job_type == "saga":
        _refuse_surroundings(words, "a step can pass it to the processes that it starts", at)
        return read_saga(words, entry, at)
    if job_type == "bash":
        return Work(job_type=job_type, bash_cmd=_command(words, names, at), isolate=isolate)
    return replace(_managed(words, entry, job_type, at), unbounded=unbounded)


def default_policy(words: Mapping[str, object], entry: Entry) -> Policy:
    """Return the default policy of an app with these options."""
    if words.get("job_type", _default_type(words, entry)) == "program":
        return Policy(fail_on="either")
    return UNENDING if words.get("is_long_running") is True else Policy()


def _job_type(words: Mapping[str, object], entry: Entry, at: At) -> str:
    default = _default_type(words, entry)
    job_type = words.get("job_type", default)
    if isinstance(job_type, str) and (job_type in JOB_TYPES or ":" in job_type):
        return job_type
    known = f"{', '.join(JOB_TYPES)}, and module:Class for a job manager"
    at.add(f"job type {job_type} is not available{nearest(job_type, JOB_TYPES)}; there are {known}")
    return default


def _default_type(words: Mapping[str, object], entry: Entry) -> str:
    """Return the type of an app without ``job_type``. A decorated class is a job manager and needs no option."""
    if isinstance(entry.function, type) and entry.function_path:
        return entry.function_path
    if entry.function or "function" in words:
        return "python"
    is_program = "bash_cmd" not in words and ("program" in words or "source" in words)
    return "program" if is_program else "bash"


def _refuse_words_of_others(words: Mapping[str, object], entry: Entry, job_type: str, at: At) -> None:
    own = _WORDS_OF.get(job_type, ())
    for word in dict.fromkeys(word for others in _WORDS_OF.values() for word in others):
        if word in words and word not in own:
            at.add(f"an app of job_type {job_type} has no {word}")
    has_place = job_type in {"python", "pyspark", "saga", entry.function_path}
    if entry.function and not has_place and "function" not in words:
        at.add(f"an app of job_type {job_type} has no function")


def _is_unbounded(words: Mapping[str, object], job_type: str, at: At) -> bool:
    """Return whether the work runs until it is stopped, and no worker holds it."""
    is_long_running = words.get("is_long_running", False)
    if not isinstance(is_long_running, bool):
        at.add(f"is_long_running: {is_long_running!r} is neither true nor false")
        return False
    if is_long_running and job_type in JOB_TYPES:
        at.add(
            f"is_long_running: an app of job_type {job_type} runs in a worker, which it would occupy indefinitely;"
            " use a job manager"
        )
    elif is_long_running and words.get("timeout") is not None:
        at.add("timeout: the app is_long_running, so its jobs end when they are stopped, or by end_before")
    return is_long_running


def _refuse_surroundings(words: Mapping[str, object], advice: str, at: At) -> None:
    """Add faults for options that code in a thread of the worker cannot have, because it shares the worker's."""
    for word in ("env", "cwd", "limits"):
        if words.get(word):
            own = "any" if word == "limits" else "one"
            at.add(f"{word}: it runs in a thread of the worker, which cannot have {own} of its own; {advice}")
    if words.get("keep_output") is True:
        at.add(f"keep_output: output printed in a thread of the worker is not separate; {advice}")


def _python(words: Mapping[str, object], entry: Entry, at: At, *, isolate: bool) -> Work:
    if not isolate:
        _refuse_surroundings(words, "set isolate: true", at)
    function, path = entry.function, entry.function_path
    if "function" in words:
        written = words["function"]
        try:
            if function or not isinstance(written, str):
                raise ValueError("write package.module:name, and only where no function is decorated")
            function, path = find_function(written), written
        except ValueError as error:
            at.add(f"function: {error}")
    elif function is None:
        at.add("an app of job_type python needs its function: package.module:name")
    return Work(job_type="python", function=function, function_path=path, isolate=isolate, source=entry.text)


def _managed(words: Mapping[str, object], entry: Entry, path: str, at: At) -> Work:
    _refuse_surroundings(words, "pass it to the work that the job manager starts", at)
    try:
        found = as_manager(entry.function, path) if entry.function_path == path else find_manager(path)
    except ValueError as error:
        at.add(f"job_type: {error}")
        return Work(job_type=path)
    return Work(job_type=path, manager=found, source=source_of(found))


def _command(words: Mapping[str, object], names: Sequence[str] | None, at: At) -> str | None:
    command = words.get("bash_cmd")
    if command is None:
        return None
    if not isinstance(command, str) or "\0" in command:
        at.add(f"bash_cmd: {command!r} is not a command")
        return None
    try:
        asked = placeholders(command)
    except ValueError as error:
        at.add(f"bash_cmd: {error}; write the shell's own braces as {{{{ and }}}}")
        return None
    known = (*OF_EVERY_JOB, *(asked if names is None else names))
    for name in asked:
        if name not in known:
            at.add(
                f"bash_cmd: there is no {{{name}}}{nearest(name, known)}; there are {', '.join(known)}."
                " Write the shell's own braces as {{ and }}"
            )
    return command
