"""Settings: where each comes from, and what is called like one and is none."""

from collections.abc import Iterator

from sluice.actors.found import PREFIX, Found
from sluice.jobs.catalogue.faults import nearest
from sluice.ops.doctor.finding import Finding, counted, ok, warn

ABOUT = "settings"
#: What a job finds in its environment, and what our own tests and compose file go by.
OTHERS = frozenset(
    PREFIX + word for word in ("APP", "JOB", "ROUND", "CLAIM", "TOKEN", "PROGRAM", "PROGRESS", "PASSWORD")
)
_TESTS = f"{PREFIX}TEST_"


def judge(found: Found) -> Iterator[Finding]:
    """``found`` has been asked for every setting there is."""
    unknown = sorted(name for name in found.texts if _is_unknown(name, found))
    for name in unknown:
        yield warn(
            ABOUT,
            f"{name} is no setting{nearest(name, found.asked)}, and nothing goes by it.",
            "Correct the name, or remove it.",
            where=found.origins[name],
        )
    set_ = sorted(name for name in found.texts if name in found.asked)
    for place in dict.fromkeys(found.origins[name] for name in set_):
        names = [name for name in set_ if found.origins[name] == place]
        yield ok(ABOUT, f"{counted(len(names), 'setting')}: {', '.join(names)}.", where=place)
    if not set_:
        yield ok(ABOUT, "Nothing is set; the defaults hold.")


def _is_unknown(name: str, found: Found) -> bool:
    """Of names that begin as ours do: the rest of the environment, and of ``.env``, is for others."""
    known = name in found.asked or name in OTHERS or name.startswith(_TESTS)
    return name.startswith(PREFIX) and not known
