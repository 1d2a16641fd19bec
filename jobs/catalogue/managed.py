"""Look-up and check of the user's job manager that a ``job_type`` names, before a job exists."""

import inspect

from sluice.jobs.api import Definition
from sluice.jobs.catalogue.functions import find_object
from sluice.jobs.managed import METHODS


def find_manager(path: str) -> type:
    """Return the user's class at this path. Raises ValueError if it is not a job manager."""
    found = find_object(path)
    if found is None:
        place, _, name = path.rpartition(":")
        raise ValueError(f"{place} has no class {name!r}")
    return as_manager(found.function if isinstance(found, Definition) else found, path)


def as_manager(found: object, path: str) -> type:
    """Return the class unchanged. Raises ValueError with the missing parts if it is not a job manager."""
    if not isinstance(found, type):
        raise ValueError(f"{path} is no class; a job manager is one, with {', '.join(METHODS)}")
    missing = [name for name in METHODS if not callable(getattr(found, name, None))]
    if missing:
        raise ValueError(f"{path} is no job manager: it has no {', '.join(missing)}")
    if not _is_made_without_arguments(found):
        raise ValueError(f"{path} cannot be created without arguments, and each run creates one")
    return found


def _is_made_without_arguments(found: type) -> bool:
    try:
        inspect.signature(found).bind()
    except TypeError:
        return False
    except ValueError:  # A class written in C has no signature; an error appears when one is made.
        return True
    return True
