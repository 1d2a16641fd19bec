"""Compensations of jobs, and the effects of sagas that they undo.

``App.compensate`` names the app that undoes the jobs of an app. ``compensation_of`` returns the job that undoes a given
job. An ``Effect`` of a saga across apps may have to be undone.
"""

from collections.abc import Mapping

from msgspec import Struct

from sluice.jobs.model.app import IRREVERSIBLE, App
from sluice.jobs.model.names import JobName
from sluice.jobs.model.submission import JSON
from sluice.jobs.states import TERMINAL, State


def is_reversible(app: App) -> bool:
    """Return whether another app undoes the jobs of this app."""
    return app.compensate not in (None, IRREVERSIBLE)


def takes_any_key(app: App) -> bool:
    """Return whether the app's only identifier is free text, so that the key of any job is also a key of this app."""
    return len(app.template.names) == 1 and not app.identifiers


def compensation_of(app: App, key: str, undo: App) -> JobName:
    """Return the job of ``undo`` that undoes this one. ``jobs.catalogue.fields.compensation_option`` checked that they
    fit."""
    if app.is_keyed_by_template and set(app.template.names) == set(undo.template.names):
        return JobName(undo.name, undo.write_key(app.read_key(key)))
    return JobName(undo.name, key)


class Effect(Struct, frozen=True, gc=False):
    """A job that succeeded under this claim for the saga submissions ``sagas``, given by number.

    No other submission may rely on its success.
    """

    id: int
    app: str
    key: str
    claim: int
    kwargs: Mapping[str, JSON] | None
    sagas: tuple[int, ...] = ()

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class EarlierCompensation(Struct, frozen=True, gc=False):
    """The present row of a compensation in the ledger. It may have undone, or be about to undo, an earlier success."""

    id: int
    state: State
    undoes_claim: int | None

    @property
    def is_live(self) -> bool:
        return self.state not in TERMINAL
