"""Confs: named sets of apps, with the final app of each mode.

``confs`` of a document maps each conf to ``{mode: app}``. A submission of the conf in a mode requests that app, and
therefore everything that it is made from. A document in another form names a ``conf_planner``: a user's function that
receives the rest of the document and returns it in this form.
"""

from collections.abc import Iterable, Iterator, Mapping

from sluice.jobs.catalogue.draft import ConfEntry, Draft
from sluice.jobs.catalogue.faults import At, nearest
from sluice.jobs.catalogue.functions import find_function
from sluice.jobs.catalogue.partitions import MODE
from sluice.jobs.submission import SAGA

_PLANNER = "conf_planner"
_CONFS = "confs"


def planned(document: dict[str, object], at: At) -> dict[str, object]:
    """Return the document as its conf planner converts it, or unchanged if it names none."""
    path = document.pop(_PLANNER, None)
    if path is None:
        return document
    within = at.inside(_PLANNER)
    try:
        if not isinstance(path, str):
            raise ValueError(f"{path!r} is not the path of a function; write package.module:name")
        made = find_function(path)(document)
    except ValueError as error:
        within.add(str(error))
        return {}
    except Exception as error:
        # The function is the user's and may raise anything.
        within.add(f"{path} raised {type(error).__name__}: {error}")
        return {}
    if not isinstance(made, Mapping) or not all(isinstance(name, str) for name in made):
        within.add(f"{path} returned no mapping of apps: {made!r}")
        return {}
    return dict(made)


def confs_of_document(document: dict[str, object], at: At) -> Iterator[ConfEntry]:
    """Remove the confs from the document and yield them."""
    confs = document.pop(_CONFS, {})
    if not isinstance(confs, Mapping):
        at.inside(_CONFS).add(f"it has to be a mapping of names to {{mode: app}}; this is {confs!r}")
        return
    for name, terminals in confs.items():
        within = at.inside(f"{_CONFS}.{name}")
        if not isinstance(terminals, Mapping) or not terminals:
            within.add(
                f"it has to be a mapping of modes to apps, like {{offline: join}}; this is {terminals!r}"
            )
            continue
        yield ConfEntry(
            at=within, name=str(name), terminals={str(mode): app for mode, app in terminals.items()}
        )


def read_confs(entries: Iterable[ConfEntry], drafts: Mapping[str, Draft]) -> dict[str, dict[str, str]]:
    """Return the app of each mode, by conf."""
    first: dict[str, ConfEntry] = {}
    for entry in entries:
        if entry.name in drafts:
            entry.at.add("an app has this name too; rename the conf")
        if first.setdefault(entry.name, entry) is not entry:
            entry.at.add(f"it is defined in {first[entry.name].at.source} already")
        for mode, app in entry.terminals.items():
            _check(mode, app, drafts, entry.at)
    return {
        name: {mode: app for mode, app in entry.terminals.items() if isinstance(app, str)}
        for name, entry in first.items()
    }


def _check(mode: str, app: object, drafts: Mapping[str, Draft], at: At) -> None:
    if mode == SAGA:
        at.add(f"{mode} is no name of a mode: it is the option by which a failed submission is undone")
    if not MODE.fullmatch(mode):
        at.add(f"{mode!r} is no name of a mode; a letter, then letters, digits, '_', '.' or '-'")
    if not isinstance(app, str) or app not in drafts:
        at.add(f"{mode}: there is no app {app!r}{nearest(app, drafts)}")
    elif drafts[app].partitioning is None:
        at.add(f"{mode}: {app} is not keyed by partition")
