"""Options of an app of type ``program``."""

from collections.abc import Callable, Mapping, Sequence

from sluice.jobs.catalogue.draft import Work
from sluice.jobs.catalogue.faults import At, nearest
from sluice.jobs.program import PROGRAM_WORDS, Program, check_digest
from sluice.jobs.programs.names import check_program_name
from sluice.jobs.programs.source import parse_source
from sluice.jobs.programs.unfit import Unfit
from sluice.jobs.runners.braces import OF_EVERY_JOB
from sluice.jobs.runners.braces import names as asked_for


def read_program(words: Mapping[str, object], names: Sequence[str] | None, at: At) -> Work:
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
    return Work(job_type="program", program=Program(**fields))


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
