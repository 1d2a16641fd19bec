"""One finding, and its severity."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from sluice.jobs.errors import DefinitionError, SluiceError

#: Exit code of errors about a server that does not answer.
_OUT_OF_REACH = 3


class FindingLevel(StrEnum):
    OK = "ok"
    WARN = "warn"
    BAD = "bad"


class Finding(Struct, frozen=True, kw_only=True):
    """Result of one check. ``out_of_reach``: the server does not answer, so nothing else about it can be checked."""

    level: FindingLevel
    about: str
    what: str
    where: str = ""
    advice: str = ""
    out_of_reach: bool = False


def ok(about: str, what: str, *, where: str = "") -> Finding:
    return Finding(level=FindingLevel.OK, about=about, what=what, where=where)


def warn(about: str, what: str, advice: str, *, where: str = "") -> Finding:
    return Finding(level=FindingLevel.WARN, about=about, what=what, where=where, advice=advice)


def bad(about: str, what: str, advice: str, *, where: str = "") -> Finding:
    return Finding(level=FindingLevel.BAD, about=about, what=what, where=where, advice=advice)


def out_of_reach(about: str, what: str, advice: str, *, where: str = "") -> Finding:
    return Finding(
        level=FindingLevel.BAD, about=about, what=what, where=where, advice=advice, out_of_reach=True
    )


def of_error(about: str, error: SluiceError) -> Iterable[Finding]:
    """Yield the findings for an error. An error in the definitions has one for each fault."""
    if isinstance(error, DefinitionError):
        for fault in error.faults:
            place = f"{fault.source}: {fault.app}" if fault.app else fault.source
            yield bad(about, fault.what, "Fix it: nothing is started until then.", where=place)
    elif error.exit_code == _OUT_OF_REACH:
        yield out_of_reach(about, error.what, error.advice, where=error.where)
    else:
        yield bad(about, error.what, error.advice, where=error.where)
