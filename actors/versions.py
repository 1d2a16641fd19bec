"""Definitions by version: those that the ledger keeps, beside those that a process was started with.

A plan keeps the versions of its apps. So a step that was planned by a definition which has changed since can be run by
it, as far as the words of a definition say what to do. What they leave to a function a worker has, or has not: where
it has another, the step is left to others.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sluice.jobs.app import App
from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.errors import DefinitionError, SluiceError
from sluice.jobs.partition_key import without_version
from sluice.jobs.ref import JobName
from sluice.jobs.submission import JSON
from sluice.ledger import versions
from sluice.ledger.connection import Ledger, Tx
from sluice.ledger.versions import Kept

#: Any address will do for what is at hand already.
_AT_HAND = "kept://"


class NotHere(SluiceError):
    """This process cannot run a job of this version."""


def keep(tx: Tx, apps: Iterable[App]) -> None:
    """Keep the versions of those of the apps whose definitions can be."""
    versions.keep(tx, [made for app in apps if (made := kept(app))])


def kept(app: App) -> Kept | None:
    if app.words is None:
        return None
    return Kept(app=app.name, version=app.version, code=app.code, words=_by_itself(app, app.words))


def _by_itself(app: App, words: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """The words with the versions of what it reads, which nobody can reckon who has not the definitions of these."""
    read = app.partitioning.dependencies if app.partitioning else ()
    if not any(each.version for each in read):
        return words
    written: Any = words["table_dependencies"]
    return {
        **words,
        "table_dependencies": [
            {**mapping, **({"version": each.version} if each.version else {})}
            for mapping, each in zip(written, read, strict=True)
        ],
    }


def texts_of(of: Iterable[Kept], confs: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """These versions as they would lie on a server of definitions."""
    texts = {each.app: msgspec.json.encode(each.words).decode() for each in of}
    return {**texts, "confs": msgspec.json.encode(confs).decode()} if confs else texts


def catalogue_of(of: Iterable[Kept], confs: Mapping[str, Mapping[str, str]]) -> Catalogue:
    """These versions as a catalogue; DefinitionError where they cannot be read here."""
    texts = texts_of(of, confs)
    return load([_AT_HAND], fetch=lambda _: texts)


class Versions:
    """By which definition each job is to be run. What was found once is remembered, for a version stays what it is."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._found: dict[JobName, App] = {}

    def of(self, catalogue: Catalogue, job: JobName) -> App:
        """NotHere where this process has no definition of its version, or other code than it was planned with."""
        app = catalogue.app(job.app)
        _, version = without_version(job.key) if app.partitioning else ("", "")
        if version == app.version:
            return app
        name = JobName(job.app, version)
        if name not in self._found:
            self._found[name] = self._look_up(name)
        return self._found[name]

    def _look_up(self, name: JobName) -> App:
        found = self._ledger.transact(lambda tx: versions.kept(tx, name.app, name.key))
        if found is None:
            raise NotHere(
                f"The definition of {name.app} has changed; nobody has kept that of version {name.key}."
            )
        try:
            app = catalogue_of([found], {})[name.app]
        except DefinitionError as error:
            raise NotHere(f"Version {name.key} of {name.app} cannot be read here: {error}") from error
        if app.code != found.code:
            raise NotHere(
                f"Version {name.key} of {name.app} was planned with other code than this worker has."
            )
        return msgspec.structs.replace(app, version=name.key)
