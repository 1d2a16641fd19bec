"""Compensations: the app that undoes the jobs of another app, and the job that undoes a given job."""

from sluice.jobs.app import IRREVERSIBLE, App
from sluice.jobs.ref import JobName


def is_reversible(app: App) -> bool:
    """Return whether another app undoes the jobs of this app."""
    return app.compensate not in (None, IRREVERSIBLE)


def takes_any_key(app: App) -> bool:
    """Return whether the app's only identifier is free text, so that the key of any job is also a key of this app."""
    return len(app.template.names) == 1 and not app.identifiers


def compensation_of(app: App, key: str, undo: App) -> JobName:
    """Return the job of ``undo`` that undoes this one. ``jobs.catalogue.compensation`` checked that they fit."""
    if app.is_keyed_by_template and set(app.template.names) == set(undo.template.names):
        return JobName(undo.name, undo.write_key(app.read_key(key)))
    return JobName(undo.name, key)
