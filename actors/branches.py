"""Branches: named sets of definitions, stored beside the definitions that processes are started with.

``sync`` stores the apps of some sources that are keyed by partition, and points the branch at their versions. A version
is derived from the definition. So a definition that two branches share is one version, and its partitions are made once
for both. A submission with a branch is planned by the definitions of that branch.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sluice.actors.assembly import open_ledger
from sluice.actors.executor.assignments import catalogue_of, kept, texts_of
from sluice.actors.settings.settings import Settings
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.resolve.stored_options import with_connected_values
from sluice.jobs.catalogue.resolve.tables import stamped
from sluice.jobs.catalogue.sources.functions import not_importing
from sluice.jobs.catalogue.sources.remote import BRANCH, Stored, Unread
from sluice.jobs.errors import BadRequest, DefinitionError, SluiceError
from sluice.jobs.model.app import App
from sluice.ledger.database.connection import Ledger, Tx
from sluice.ledger.keyspaces import versions
from sluice.ledger.keyspaces.versions import Change, Kept

#: Branch that other branches are compared with.
MAIN = "main"


class Moved(Struct, frozen=True):
    """Change of an app's version on the branch. ``before`` is None if the app is new, ``after`` is None if it is
    removed.

    ``partitions`` is the number of existing partitions that would have to be made again. ``shared``: the main branch
    has the new version too.
    """

    app: str
    before: str | None
    after: str | None
    partitions: int
    shared: bool


class Difference(Struct, frozen=True):
    """Changes of a branch by a sync, and the apps that stay the same."""

    branch: str
    moved: tuple[Moved, ...]
    unchanged: tuple[str, ...]

    @property
    def partitions(self) -> int:
        return sum(each.partitions for each in self.moved)


def branch_of(tx: Tx, name: str) -> Catalogue:
    """Return the definitions of a branch without their code.

    Rows of the ledger must not decide which modules the planner or the console imports. BadRequest if the branch does
    not exist, or if its definitions cannot be read.
    """
    synced = versions.synced(tx, name)
    if synced is None:
        known = ", ".join(each.branch for each in versions.branches(tx)) or "none yet"
        raise BadRequest(
            f"There is no branch {name!r}.",
            advice=f"`sluice apps sync --branch {name} SOURCE` creates it; existing branches: {known}.",
        )
    has = _definitions(tx, name)
    try:
        with not_importing():
            catalogue = catalogue_of(has, synced.confs)
    except DefinitionError as error:
        raise BadRequest(
            f"The definitions of branch {name} cannot be read here: {error}", where=name
        ) from error
    return _as_kept(catalogue, has)


def stored(settings: Settings, address: str) -> Stored | Unread:
    """Return the definitions that a process loads from the source ``branch://NAME``: those on that branch."""
    name = address.removeprefix(BRANCH)

    def look(tx: Tx) -> Stored | Unread:
        synced = versions.synced(tx, name)
        if synced is None:
            return Unread(
                f"there is no branch {name!r}; `sluice apps sync --branch {name} SOURCE` creates it"
            )
        return texts_of(_definitions(tx, name), synced.confs)

    try:
        with open_ledger(settings, connections=1) as ledger:
            return ledger.transact(look)
    except SluiceError as error:
        return Unread(error.what)


def _definitions(tx: Tx, name: str) -> list[Kept]:
    """Return the definitions of a branch. Other branches share them, and may have stored them with other values of
    second dimensions."""
    has = versions.of_branch(tx, name)
    options = with_connected_values([each.options for each in has])
    return [replace(each, options=of) for each, of in zip(has, options, strict=True)]


def _as_kept(catalogue: Catalogue, has: Iterable[Kept]) -> Catalogue:
    """Return the catalogue with the versions, definitions and code digests that its apps were stored with."""
    of = {each.app: each for each in has}
    found = {each.app: each.version for each in of.values()}
    return catalogue.revised(
        [
            replace(stamped(app, found), words=of[app.name].options, code=of[app.name].code)
            for app in catalogue.values()
        ]
    )


def sync(
    ledger: Ledger, branch: str, catalogue: Catalogue, *, by: str | None, dry_run: bool = False
) -> Difference:
    """Point the branch at the apps of this catalogue that are keyed by partition, and return the changes. With
    ``dry_run``, change nothing.

    BadRequest if an app cannot be stored, or if another app still reads the table of an app that is removed.
    """
    apps = [app for app in catalogue.values() if app.partitioning]
    made = [_kept(app) for app in apps]

    def change(tx: Tx) -> Difference:
        difference = _compare(tx, branch, catalogue, apps)
        if not dry_run:
            versions.set_branch(tx, branch, made, catalogue.confs, by=by)
        return difference

    return ledger.transact(change)


def _kept(app: App) -> Kept:
    if made := kept(app):
        return made
    raise BadRequest(
        f"{app.name} cannot be kept: not all of its definition is JSON,"
        " or its function or job manager is not in a module.",
        where=app.origin,
        advice="Put it into a module that all workers can import, and name it like package.module:name.",
    )


def _compare(tx: Tx, branch: str, catalogue: Catalogue, apps: Sequence[App]) -> Difference:
    """Lock the branch, and return the changes from its present apps to these."""
    versions.lock_branch(tx, branch)
    synced = versions.synced(tx, branch)
    # A new branch is compared with the main branch, because it usually starts as a copy of that.
    before = versions.of_branch(tx, branch if synced else MAIN)
    _refuse_orphans(catalogue, before)
    return _difference(tx, branch, before, apps)


def _refuse_orphans(catalogue: Catalogue, before: Iterable[Kept]) -> None:
    for each in before:
        table = str(each.options["output_table"])
        read = [name for name in (table, *catalogue.slices_of(table)) if name in catalogue.externals]
        if read:
            names = (app.name for name in read for app, _ in catalogue.readers_of(name))
            readers = ", ".join(dict.fromkeys(names))
            raise BadRequest(
                f"{each.app} is gone, and {readers} still reads its table {table}.",
                where=readers,
                advice="Keep it, or let them read another table.",
            )


def _changes(slices: Iterable[App], before: str, after: str) -> list[Change]:
    """Return the change of an app's version for each slice of its table, or for its only table."""
    return [Change(each.partitioning.table, before, after) for each in slices if each.partitioning]


def _count_remade(tx: Tx, changes: Mapping[str, Sequence[Change]]) -> dict[str, int]:
    """Return the number of partitions that each of these apps has to make again."""
    found = versions.count_remade(tx, [change for of in changes.values() for change in of])
    return {app: sum(found.get(change.table, 0) for change in of) for app, of in changes.items()}


def _difference(tx: Tx, branch: str, before: Sequence[Kept], apps: Sequence[App]) -> Difference:
    old = {each.app: each.version for each in before}
    new = {app.name: app.version for app in apps}
    tables = {app.name: app.slices for app in apps}
    main = {each.app: each.version for each in versions.of_branch(tx, MAIN)}
    changed = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    kept = [name for name in changed if name in old and name in new]
    remade = _count_remade(tx, {name: _changes(tables[name], old[name], new[name]) for name in kept})
    moved = (
        Moved(
            app=name,
            before=old.get(name),
            after=new.get(name),
            partitions=remade.get(name, 0),
            shared=name in new and main.get(name) == new[name],
        )
        for name in changed
    )
    return Difference(branch, tuple(moved), tuple(sorted(new.keys() - set(changed))))
