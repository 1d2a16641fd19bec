"""Work of an app's jobs: commands, functions, programs, Spark applications and sagas.

``read_work`` reads the type of the work, and the command or function. ``read_program``, ``read_spark`` and
``read_saga`` read the options of the types ``program``, ``pyspark`` and ``saga``. A saga has these options:

function = the path of a function that takes the flight and returns its steps
hooks    = [module:object …]
context  = the path of a function without arguments

In Python the function is the decorated one, and the other two may be the objects themselves.

``refuse_evaluated`` detects values in a command that would be run as code, when definitions are loaded.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from sluice.jobs.catalogue.errors import At, nearest
from sluice.jobs.catalogue.fields.chunk_options import CHUNK_WORDS
from sluice.jobs.catalogue.fields.draft import AppWork, UnreadApp
from sluice.jobs.catalogue.fields.partition_options import PARTITION_WORDS
from sluice.jobs.catalogue.resolve.source_text import text_behind
from sluice.jobs.catalogue.sources.functions import (
    as_manager,
    find_function,
    find_manager,
    find_object,
    read_pymodule,
    source_of,
)
from sluice.jobs.keys.identifiers import Checked, Text
from sluice.jobs.model.app import App
from sluice.jobs.model.program import PROGRAM_WORDS, Program, check_digest
from sluice.jobs.model.spark import SHIPPED, Spark
from sluice.jobs.policy.policy import UNENDING, Policy
from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.names import check_program_name
from sluice.jobs.programs.source import parse_source
from sluice.jobs.runners.command.evaluated_values import evaluated
from sluice.jobs.runners.command.placeholders import OF_EVERY_JOB, placeholders
from sluice.jobs.runners.command.placeholders import names as asked_for
from sluice.jobs.sagas.spec import HOOK_METHODS, Saga
from sluice.jobs.sagas.steps import is_awaited, with_inputs


def read_program(words: Mapping[str, object], names: Sequence[str] | None, at: At) -> AppWork:
    """Return the work of a program.

    The options are checked as far as possible before a job exists. A text with placeholders cannot be checked,
    because its final value is not known.
    """
    fields: dict[str, str] = {}
    for word in PROGRAM_WORDS:
        if word in words:
            try:
                fields[word] = _text(word, words[word], names)
            except ValueError as error:
                at.add(f"{word}: {error}")
    if words.get("cwd"):
        at.add("cwd: a program always runs in its own folder, the one with its run.sh; leave it out")
    return AppWork(job_type="program", program=Program(**fields))


def _text(word: str, value: object, names: Sequence[str] | None) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise ValueError(f"{value!r} is not a text")
    asked = asked_for(value)
    known = (*OF_EVERY_JOB, *(asked if names is None else names))
    for name in asked:
        if name not in known:
            raise ValueError(
                f"there is no {{{name}}}{nearest(name, known)}; there are {', '.join(known)}."
                " Write a literal brace twice"
            )
    if "{" not in value and "}" not in value and word in _CHECKS:
        try:
            _CHECKS[word](value)
        except Unfit as unfit:
            raise ValueError(unfit.what) from None
    return value


_CHECKS: Mapping[str, Callable[[str], object]] = {
    "program": check_program_name,
    "source": parse_source,
    "sha256": check_digest,
}


#: Function in the module that Spark calls.
MAIN = "main"


def read_spark(words: Mapping[str, object], entry: UnreadApp, names: Sequence[str], at: At) -> AppWork:
    """Return the work of a Spark app. This neither needs Spark nor runs the module."""
    known = (*OF_EVERY_JOB, *names)
    fields: dict[str, Any] = {}
    for word, (field, parse) in _WORDS.items():
        if word in words:
            try:
                fields[field] = parse(words[word], known)
            except ValueError as error:
                at.add(f"{word}: {error}")
    for word in _OF_WHAT_IS_READ:
        if word in words and "read_fp" not in words:
            at.add(f"{word}: it needs read_fp, which the app does not have")
    path, source = _main(words, entry, at)
    return AppWork(
        job_type="pyspark", function=entry.function, function_path=path, source=source, spark=Spark(**fields)
    )


def _main(words: Mapping[str, object], entry: UnreadApp, at: At) -> tuple[str | None, str]:
    """Return the path of the function, and its module's text unless the function is decorated."""
    module = words.get("pymodule")
    if module is None:
        if entry.function is None:
            at.add("an app of job_type pyspark needs its pymodule: package.module or path/to/file.py")
        return entry.function_path, ""
    try:
        if entry.function or not isinstance(module, str) or not module:
            raise ValueError(
                "write package.module or path/to/file.py, and only where no function is decorated"
            )
        return f"{module}:{MAIN}", read_pymodule(module, MAIN)
    except ValueError as error:
        at.add(f"pymodule: {error}")
    return None, ""


def _conf(value: object, _: Sequence[str]) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a mapping of Spark's properties to texts")
    for name, text in value.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise ValueError(f"the value of {name}, {text!r}, is not a text; put it in quotes")
    return dict(value)


def _uris(value: object, _: Sequence[str]) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list of files")
    for uri in value:
        if not isinstance(uri, str) or "," in uri or PurePosixPath(uri).suffix not in SHIPPED:
            raise ValueError(f"{uri!r} is none of {', '.join(SHIPPED)}; Spark ships these")
    return tuple(value)


def _fp(value: object, known: Sequence[str]) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is not the path of a file")
    for name in asked_for(value):
        if name not in known:
            raise ValueError(f"there is no {{{name}}}{nearest(name, known)}; there are {', '.join(known)}")
    return value


def _truth(value: object, _: Sequence[str]) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _partitions(value: object, _: Sequence[str]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} is not a whole number from 1 on")
    return value


def _share(value: object, _: Sequence[str]) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ValueError(f"{value!r} is not a share above 0 and up to 1")
    return float(value)


#: By option: the field of ``Spark`` that it sets, and the function that reads its value.
_WORDS: dict[str, tuple[str, Callable[[object, Sequence[str]], object]]] = {
    "spark_conf": ("conf", _conf),
    "uris": ("uris", _uris),
    "read_fp": ("read_fp", _fp),
    "write_fp": ("write_fp", _fp),
    "mapjson": ("mapjson", _truth),
    "minPartitions": ("min_partitions", _partitions),
    "sample": ("sample", _share),
}
_OF_WHAT_IS_READ = ("mapjson", "minPartitions", "sample")
SPARK_WORDS = ("pymodule", *_WORDS)


SAGA_WORDS = ("hooks", "context")
_COUNT_NOTHING = {
    "fail_on": "it has neither an exit code nor a stderr; a step that fails returns Fatal, or raises",
    "max_losses": "its flight is resumed after the loss of a worker, without a limit",
    "max_timeouts": "a flight over its timeout has failed and is undone; set max_fails to limit how often",
}


def read_saga(words: Mapping[str, object], entry: UnreadApp, at: At) -> AppWork:
    """Return the work of a saga.

    ``source`` is the text of the function and of everything in its module that it uses. The steps do the work, so a
    change of the steps changes the effect of the app.
    """
    _refuse_what_counts_nothing(words, at)
    build, path = _build(words, entry, at)
    if build is None:
        return AppWork(job_type="saga")
    saga = Saga(build=with_inputs(build), context=_context(words.get("context"), at), hooks=_hooks(words, at))
    return AppWork(job_type="saga", function_path=path, saga=saga, source=entry.text or text_behind(build))


def _refuse_what_counts_nothing(words: Mapping[str, object], at: At) -> None:
    others = [word for word in (*CHUNK_WORDS, *PARTITION_WORDS) if word in words]
    if others:
        at.add(f"{', '.join(others)}: a saga runs for one key; give it a job_id, and leave these options out")
    for word, why in _COUNT_NOTHING.items():
        if word in words:
            at.add(f"{word}: it does not apply to a saga: {why}")


def _build(
    words: Mapping[str, object], entry: UnreadApp, at: At
) -> tuple[Callable[..., Any] | None, str | None]:
    build, path = entry.function, entry.function_path
    try:
        if "function" in words:
            written = words["function"]
            if build or not isinstance(written, str):
                raise ValueError("write package.module:name, and only where no function is decorated")
            build, path = find_function(written), written
        if build is None:
            at.add("an app of job_type saga needs its function: package.module:name")
        else:
            _require_a_list(build)
    except ValueError as error:
        at.add(f"function: {error}")
        return None, None
    return build, path


def _require_a_list(build: Callable[..., Any]) -> None:
    name = getattr(build, "__name__", repr(build))
    if isinstance(build, type):
        raise ValueError(f"{name} is a class; a saga is made by a function that returns a list of steps")
    if inspect.iscoroutinefunction(build) or inspect.isasyncgenfunction(build):
        raise ValueError(f"{name} is async, and the choice of steps is not awaited; make it a def")
    if inspect.isgeneratorfunction(build):
        raise ValueError(f"{name} yields its steps; return a list of them")
    if not _takes_first(build):
        raise ValueError(f"{name} has to take the flight first, and everything else by name")


def _context(value: object, at: At) -> Callable[[], Any] | None:
    """Return the function for the context. Each process calls it without arguments, so that is checked here."""
    if value is None:
        return None
    try:
        context = find_function(value) if isinstance(value, str) else value
        if not callable(context):
            raise ValueError(
                f"{value!r} is neither a function nor the path of one; write package.module:name"
            )
        name = getattr(context, "__name__", value)
        if is_awaited(context):
            raise ValueError(
                f"{name} is async, and the shared context of all flights is not awaited; make it a def"
            )
        if not _takes(context, 0):
            raise ValueError(f"{name} must take no arguments")
    except ValueError as error:
        at.add(f"context: {error}")
        return None
    return context


def _hooks(words: Mapping[str, object], at: At) -> tuple[Any, ...]:
    written = words.get("hooks", ())
    if not isinstance(written, list | tuple):
        at.add(f"hooks: {written!r} is no list of hooks; write [package.module:name]")
        return ()
    hooks: list[object] = []
    for each in written:
        try:
            hooks.append(_hook(each))
        except ValueError as error:
            at.add(f"hooks: {error}")
    return tuple(hooks)


def _hook(written: object) -> object:
    """Return a hook. If it is a function, the object that it makes can only be checked later."""
    hook = find_object(written) if isinstance(written, str) else written
    if hook is None:
        place, _, name = str(written).rpartition(":")
        raise ValueError(f"{place} has no {name!r}" if place else "None is no hook")
    has = [name for name in HOOK_METHODS if callable(getattr(hook, name, None))]
    if not has and (isinstance(hook, type) or not callable(hook)):
        raise ValueError(f"{written!r} has none of {', '.join(HOOK_METHODS)}")
    _require_sync_and_one_argument(hook, has)
    return hook


def _require_sync_and_one_argument(hook: object, has: list[str]) -> None:
    """Raise ValueError if a method of the hook is async, or if the hook cannot be called to make an object.

    A hook that makes objects is called with one argument, the flight.
    """
    name = getattr(hook, "__name__", type(hook).__name__)
    if awaited := [each for each in has if is_awaited(getattr(hook, each))]:
        raise ValueError(f"{', '.join(awaited)} of {name} is async, and hooks are not awaited; make it a def")
    makes_one = isinstance(hook, type) or not has
    if makes_one and is_awaited(hook):
        raise ValueError(f"{name} is async, and hooks are not awaited; make it a def")
    if makes_one and callable(hook) and not _takes(hook, 1):
        raise ValueError(
            f"{name} has to take one argument, the flight: it is called for the hook of each run"
        )


def _takes_first(build: Callable[..., Any]) -> bool:
    """Return whether the function accepts the flight as its first argument, and all others by name."""
    try:
        first, *others = inspect.signature(build).parameters.values()
    except ValueError:
        return _takes(build, 1)
    is_positional = first.kind not in {first.KEYWORD_ONLY, first.VAR_KEYWORD}
    return is_positional and all(it.kind is not it.POSITIONAL_ONLY for it in others)


def _takes(function: Callable[..., Any], count: int) -> bool:
    """Return whether the function accepts this many arguments.

    Some callables written in C have no signature; their errors appear when they are called.
    """
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError:
        return False
    except ValueError:
        return True
    return True


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
    "python": ("function", "isolate", "retry_on", "never_retry"),
    "pyspark": SPARK_WORDS,
    "program": PROGRAM_WORDS,
    "saga": ("function", *SAGA_WORDS, "debug"),
}


def read_work(words: Mapping[str, object], entry: UnreadApp, names: Sequence[str] | None, at: At) -> AppWork:
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
        return AppWork(job_type=job_type, bash_cmd=_command(words, names, at), isolate=isolate)
    return replace(_managed(words, entry, job_type, at), unbounded=unbounded)


def default_policy(words: Mapping[str, object], entry: UnreadApp) -> Policy:
    """Return the default policy of an app with these options."""
    if words.get("job_type", _default_type(words, entry)) == "program":
        return Policy(fail_on="either")
    return UNENDING if words.get("is_long_running") is True else Policy()


def _job_type(words: Mapping[str, object], entry: UnreadApp, at: At) -> str:
    default = _default_type(words, entry)
    job_type = words.get("job_type", default)
    if isinstance(job_type, str) and (job_type in JOB_TYPES or ":" in job_type):
        return job_type
    known = f"{', '.join(JOB_TYPES)}, and module:Class for a job manager"
    at.add(f"job type {job_type} is not available{nearest(job_type, JOB_TYPES)}; there are {known}")
    return default


def _default_type(words: Mapping[str, object], entry: UnreadApp) -> str:
    """Return the type of an app without ``job_type``. A decorated class is a job manager and needs no option."""
    if isinstance(entry.function, type) and entry.function_path:
        return entry.function_path
    if entry.function or "function" in words:
        return "python"
    is_program = "bash_cmd" not in words and ("program" in words or "source" in words)
    return "program" if is_program else "bash"


def _refuse_words_of_others(words: Mapping[str, object], entry: UnreadApp, job_type: str, at: At) -> None:
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
        at.add(
            f"keep_output: output of a thread of the worker lacks that of processes that it starts; {advice}"
        )


def _python(words: Mapping[str, object], entry: UnreadApp, at: At, *, isolate: bool) -> AppWork:
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
    return AppWork(
        job_type="python", function=function, function_path=path, isolate=isolate, source=entry.text
    )


def _managed(words: Mapping[str, object], entry: UnreadApp, path: str, at: At) -> AppWork:
    _refuse_surroundings(words, "pass it to the work that the job manager starts", at)
    try:
        found = as_manager(entry.function, path) if entry.function_path == path else find_manager(path)
    except ValueError as error:
        at.add(f"job_type: {error}")
        return AppWork(job_type=path)
    return AppWork(job_type=path, manager=found, source=source_of(found))


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


_, _JOB_ID = OF_EVERY_JOB


def refuse_evaluated(app: App, at: At) -> None:
    """Add a fault for each placeholder of ``bash_cmd`` that is evaluated as code and may be any text.

    Whole numbers, days and values listed in the definition are safe, because the author allows them.
    """
    if (
        app.bash_cmd is None or app.partitioning is not None
    ):  # Partitions are written by the calendar of the app.
        return
    try:
        found = evaluated(app.bash_cmd)
    except ValueError:  # The error in its braces is reported where the command is read.
        return
    texts = set(_texts(app)) if found else set()
    for name, why in found.items():
        if name in texts:
            at.add(
                f"bash_cmd: {{{name}}} {why}, so the shell would run code that a key contains;"
                " declare it as int or date in identifiers, list its values, or use it as a separate word"
            )


def _texts(app: App) -> Iterator[str]:
    """Yield the placeholders that may have any text as value."""
    if app.chunking is not None:
        yield from ("work_ids", _JOB_ID)
        return
    texts = [name for name in app.template.names if isinstance(app.kind(name), Text | Checked)]
    yield from texts
    if texts and _JOB_ID not in app.template.names:
        yield _JOB_ID
