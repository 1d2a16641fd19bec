"""The job manager that a ``job_type`` of the user's names: found, and looked over before there is a job."""

import inspect

from sluice.jobs.api import Definition
from sluice.jobs.catalogue.functions import find_object
from sluice.jobs.managed import METHODS


def find_manager(path: str) -> type:
    """The user's class by its path; ValueError where there is none of which managers could be made."""
    found = find_object(path)
    if found is None:
        place, _, name = path.rpartition(":")
        raise ValueError(f"{place} has no class {name!r}")
    return as_manager(found.function if isinstance(found, Definition) else found, path)


def as_manager(found: object, path: str) -> type:
    """The class itself; ValueError says what it lacks."""
    if not isinstance(found, type):
        raise ValueError(f"{path} is no class; a job manager is one, with {', '.join(METHODS)}")
    missing = [name for name in METHODS if not callable(getattr(found, name, None))]
    if missing:
        raise ValueError(f"{path} is no job manager: it has no {', '.join(missing)}")
    if not _is_made_without_arguments(found):
        raise ValueError(f"{path} cannot be made without arguments, and each run makes one")
    return found


def _is_made_without_arguments(found: type) -> bool:
    try:
        inspect.signature(found).bind()
    except TypeError:
        return False
    except ValueError:  # A class written in C has no signature; it shows when one is made.
        return True
    return True
