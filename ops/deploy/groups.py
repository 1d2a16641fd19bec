"""Groups of apps that share workers, and the names of workers in Kubernetes. An app that is in no group has workers of
its own.

Names of apps may have upper-case letters, dots and underscores. Names in Kubernetes have lower-case letters, digits and
dashes. A name that is valid in Kubernetes stays as it is. Any other name gets a digest, so that two apps never get the
same name.
"""

import re
from collections.abc import Iterable, Sequence
from hashlib import sha256

from msgspec import Struct

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest

#: Maximum length of a name. With the prefix ``sluice-worker-``, and ``keda-hpa-`` that KEDA's autoscaler adds before
#: it, a name has 63 characters.
LENGTH_MAX = 40
_DIGEST_LENGTH = 8
_SOUND = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_OTHER = re.compile(r"[^a-z0-9]+")


def is_name(text: str) -> bool:
    return len(text) <= LENGTH_MAX and _SOUND.fullmatch(text) is not None


def name_of(app: str) -> str:
    """Return the name for an app. It does not depend on other apps."""
    if is_name(app):
        return app
    digest = sha256(app.encode()).hexdigest()[:_DIGEST_LENGTH]
    room = LENGTH_MAX - _DIGEST_LENGTH - 1
    return f"{_OTHER.sub('-', app.lower()).strip('-')[:room].strip('-')}-{digest}"


class WorkerGroup(Struct, frozen=True):
    """Apps that share workers. ``name`` is valid in Kubernetes."""

    name: str
    apps: tuple[str, ...]


def read_groups(texts: Iterable[str]) -> list[WorkerGroup]:
    """Parse groups, each written as ``name=app1,app2``."""
    return [_read(text) for text in texts]


def group(catalogue: Catalogue, groups: Sequence[WorkerGroup]) -> list[WorkerGroup]:
    """Return the groups in the order of the definitions, with one more group for each app that is in none. BadRequest
    if a group names an unknown app or an app of another group, or if two groups have the same name.
    """
    grouped: dict[str, WorkerGroup] = {}
    for each in groups:
        for app in each.apps:
            if app not in catalogue:
                raise BadRequest(f"There is no app {app}.", where=f"group {each.name}")
            if app in grouped:
                raise BadRequest(f"{app} is in two groups.", where=f"{grouped[app].name}, {each.name}")
            grouped[app] = each
    found = dict.fromkeys(grouped.get(app) or WorkerGroup(name_of(app), (app,)) for app in catalogue.queues)
    by_name: dict[str, WorkerGroup] = {}
    for each in found:
        if each.name in by_name:
            raise BadRequest(
                f"Two groups are called {each.name}.",
                where=f"{', '.join(by_name[each.name].apps)} and {', '.join(each.apps)}",
                advice="Choose another name for the group in --group.",
            )
        by_name[each.name] = each
    return list(found)


def _read(text: str) -> WorkerGroup:
    name, _, listed = text.partition("=")
    apps = tuple(dict.fromkeys(filter(None, (part.strip() for part in listed.split(",")))))
    if not is_name(name) or not apps:
        raise BadRequest(
            f"{text!r} is no group.",
            advice="Write --group name=app1,app2; a name has small letters, digits and dashes,"
            f" at most {LENGTH_MAX}.",
        )
    return WorkerGroup(name, apps)
