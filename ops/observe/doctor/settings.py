"""Findings about settings: the source of each setting, and variables with Sluice's prefix that are not settings."""

from collections.abc import Iterator

from sluice.actors.settings.sources import PREFIX, FoundSettings
from sluice.jobs.catalogue.errors import nearest
from sluice.jobs.text.units import counted
from sluice.ops.observe.doctor.finding import Finding, ok, warn

ABOUT = "settings"
#: Variables that are not settings: the environment of a job, and variables of Sluice's tests and compose file.
OTHERS = frozenset(
    PREFIX + word for word in ("APP", "JOB", "ROUND", "CLAIM", "TOKEN", "PROGRAM", "PROGRESS", "PASSWORD")
)
_TESTS = f"{PREFIX}TEST_"


def judge(found: FoundSettings) -> Iterator[Finding]:
    """Yield the findings. Every existing setting has been read from ``found`` before."""
    unknown = sorted(name for name in found.texts if _is_unknown(name, found))
    for name in unknown:
        yield warn(
            ABOUT,
            f"{name} is no setting{nearest(name, found.asked)}, and is ignored.",
            "Correct the name, or remove it.",
            where=found.origins[name],
        )
    set_ = sorted(name for name in found.texts if name in found.asked)
    for place in dict.fromkeys(found.origins[name] for name in set_):
        names = [name for name in set_ if found.origins[name] == place]
        yield ok(ABOUT, f"{counted(len(names), 'setting')}: {', '.join(names)}.", where=place)
    if not set_:
        yield ok(ABOUT, "Nothing is set; the defaults apply.")


def _is_unknown(name: str, found: FoundSettings) -> bool:
    """Return whether a variable with Sluice's prefix is not a setting. Other variables in the environment and in
    ``.env`` are not checked.
    """
    known = name in found.asked or name in OTHERS or name.startswith(_TESTS)
    return name.startswith(PREFIX) and not known
