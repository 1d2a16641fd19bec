"""Branches: definitions that are kept under a name, beside those that processes are started with.

``sync`` keeps all apps of some sources that are keyed by partition, each by what it says, and points the branch at
them. So what two branches say alike is one version, and its partitions are made once for both. A submission with a
branch is planned by what that has.
"""

from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from sluice.actors.assembly import open_ledger
from sluice.actors.settings import Settings
from sluice.actors.versions import catalogue_of, kept, texts_of
from sluice.jobs.app import App
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.functions import not_importing
from sluice.jobs.catalogue.lineage import stamped
from sluice.jobs.catalogue.remote import BRANCH, Stored, Unread
from sluice.jobs.errors import BadRequest, DefinitionError, SluiceError
from sluice.ledger import versions
from sluice.ledger.connection import Ledger, Tx
from sluice.ledger.versions import Change, Kept

#: The branch that others are held against.
MAIN = "main"


class Moved(Struct, frozen=True):
    """An app whose version on the branch changes: from none where it is new, to none where it is gone. So many
    ``partitions`` that were there would have to be made again. It may be ``shared`` with the main branch."""

    app: str
    before: str | None
    after: str | None
    partitions: int
    shared: bool


class Difference(Struct, frozen=True):
    """What a sync changes on its branch, and the apps that stay as they are."""

    branch: str
    moved: tuple[Moved, ...]
    unchanged: tuple[str, ...]

    @property
    def partitions(self) -> int:
        return sum(each.partitions for each in self.moved)


def branch_of(tx: Tx, name: str) -> Catalogue:
    """Return the definitions of a branch, without their code: rows of the ledger do not decide what the planner or the
    console imports. BadRequest if there is no such branch, or if its definitions cannot be read."""
    synced = versions.synced(tx, name)
    if synced is None:
        known = ", ".join(each.branch for each in versions.branches(tx)) or "there is none yet"
        raise BadRequest(
            f"There is no branch {name!r}.",
            advice=f"`sluice apps sync --branch {name} SOURCE` makes it; there are: {known}.",
        )
    has = versions.of_branch(tx, name)
    try:
        with not_importing():
            catalogue = catalogue_of(has, synced.confs)
    except DefinitionError as error:
        raise BadRequest(
            f"The definitions of branch {name} cannot be read here: {error}", where=name
        ) from error
    return _as_kept(catalogue, has)


def stored(settings: Settings, address: str) -> Stored | Unread:
    """What a process that is started with ``branch://NAME`` loads: the definitions of that branch."""
    name = address.removeprefix(BRANCH)

    def look(tx: Tx) -> Stored | Unread:
        synced = versions.synced(tx, name)
        if synced is None:
            return Unread(f"there is no branch {name!r}; `sluice apps sync --branch {name} SOURCE` makes it")
        return texts_of(versions.of_branch(tx, name), synced.confs)

    try:
        with open_ledger(settings, connections=1) as ledger:
            return ledger.transact(look)
    except SluiceError as error:
        return Unread(error.what)


def _as_kept(catalogue: Catalogue, has: Iterable[Kept]) -> Catalogue:
    """Give the apps the versions, words and digests of code that they were kept with."""
    of = {each.app: each for each in has}
    found = {each.app: each.version for each in of.values()}
    return catalogue.revised(
        [
            replace(stamped(app, found), words=of[app.name].words, code=of[app.name].code)
            for app in catalogue.values()
        ]
    )


def sync(
    ledger: Ledger, branch: str, catalogue: Catalogue, *, by: str | None, dry_run: bool = False
) -> Difference:
    """Point the branch at the apps of this catalogue that are keyed by partition; or only say what that would change.

    BadRequest where one cannot be kept, and where an app is gone whose table others still read.
    """
    apps = [app for app in catalogue.values() if app.partitioning]
    made = [_kept(app) for app in apps]
    work = partial(_sync, branch=branch, catalogue=catalogue, apps=apps, made=made, by=by, dry_run=dry_run)
    return ledger.transact(work)


def _kept(app: App) -> Kept:
    if made := kept(app):
        return made
    raise BadRequest(
        f"{app.name} cannot be kept: not all of its definition is JSON,"
        " or its function or job manager is not in a module.",
        where=app.origin,
        advice="Put that into a module which all workers can import, and name it like package.module:name.",
    )


def _sync(
    tx: Tx,
    *,
    branch: str,
    catalogue: Catalogue,
    apps: list[App],
    made: list[Kept],
    by: str | None,
    dry_run: bool,
) -> Difference:
    versions.take_turn(tx, branch)
    synced = versions.synced(tx, branch)
    # A new branch is held against the main one, from which people depart.
    before = versions.of_branch(tx, branch if synced else MAIN)
    _refuse_orphans(catalogue, before)
    difference = _difference(tx, branch, before, apps)
    if not dry_run:
        versions.point(tx, branch, made, catalogue.confs, by=by)
    return difference


def _refuse_orphans(catalogue: Catalogue, before: Iterable[Kept]) -> None:
    for each in before:
        table = str(each.words["output_table"])
        if table in catalogue.externals:
            readers = ", ".join(app.name for app, _ in catalogue.readers_of(table))
            raise BadRequest(
                f"{each.app} is gone, and {readers} still reads its table {table}.",
                where=readers,
                advice="Keep it, or let them read another table.",
            )


def _difference(tx: Tx, branch: str, before: Sequence[Kept], apps: Sequence[App]) -> Difference:
    old = {each.app: each.version for each in before}
    new = {app.name: app.version for app in apps}
    tables = {app.name: app.partitioning.table for app in apps if app.partitioning}
    main = {each.app: each.version for each in versions.of_branch(tx, MAIN)}
    changed = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
    remade = versions.remade(
        tx, [Change(tables[name], old[name], new[name]) for name in changed if name in old and name in new]
    )
    moved = (
        Moved(
            app=name,
            before=old.get(name),
            after=new.get(name),
            partitions=remade.get(tables.get(name, ""), 0),
            shared=name in new and main.get(name) == new[name],
        )
        for name in changed
    )
    return Difference(branch, tuple(moved), tuple(sorted(new.keys() - set(changed))))
