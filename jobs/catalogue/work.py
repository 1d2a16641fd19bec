"""What a job of an app does: which type it has, and the command or function."""

from collections.abc import Mapping

from jobs.catalogue.draft import Entry, Work
from jobs.catalogue.faults import At, nearest
from jobs.catalogue.functions import find_function
from jobs.runners.placeholders import placeholders
from jobs.template import Template

JOB_TYPES = ("bash", "python")
WORK_WORDS = ("job_type", "bash_cmd", "function", "isolate")


def read_work(words: Mapping[str, object], entry: Entry, template: Template | None, at: At) -> Work:
    """The first faulty word does not keep the others from being checked."""
    isolate = words.get("isolate", False)
    if not isinstance(isolate, bool):
        at.add(f"isolate: {isolate!r} is neither true nor false")
        isolate = False
    job_type = _job_type(words, entry, at)
    if job_type == "python":
        return _python(words, entry, at, isolate=isolate)
    if "function" in words or entry.function:
        at.add(f"an app of job_type {job_type} has no function")
    return Work(job_type=job_type, bash_cmd=_command(words, template, at), isolate=isolate)


def _job_type(words: Mapping[str, object], entry: Entry, at: At) -> str:
    default = "python" if entry.function or "function" in words else "bash"
    job_type = words.get("job_type", default)
    if isinstance(job_type, str) and job_type in JOB_TYPES:
        return job_type
    known = ", ".join(JOB_TYPES)
    at.add(f"job type {job_type} is not available{nearest(job_type, JOB_TYPES)}; there are {known}")
    return default


def _python(words: Mapping[str, object], entry: Entry, at: At, *, isolate: bool) -> Work:
    if "bash_cmd" in words:
        at.add("an app of job_type python has no bash_cmd")
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
    return Work(job_type="python", function=function, function_path=path, isolate=isolate)


def _command(words: Mapping[str, object], template: Template | None, at: At) -> str | None:
    command = words.get("bash_cmd")
    if command is None:
        return None
    if not isinstance(command, str) or "\0" in command:
        at.add(f"bash_cmd: {command!r} is not a command")
        return None
    try:
        names = list(placeholders(command))
    except ValueError as error:
        at.add(f"bash_cmd: {error}; the shell's own braces are written {{{{ and }}}}")
        return None
    known = ("app_name", "job_id", *(template.names if template else names))
    for name in names:
        if name not in known:
            at.add(
                f"bash_cmd: there is no {{{name}}}{nearest(name, known)}; there are {', '.join(known)}."
                " The shell's own braces are written {{ and }}"
            )
    return command
