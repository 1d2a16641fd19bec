"""Which app's jobs undo the jobs of another, and which job that is."""

from sluice.jobs.app import IRREVERSIBLE, App
from sluice.jobs.ref import JobName


def is_reversible(app: App) -> bool:
    """Whether there is an app whose jobs undo what its jobs have done."""
    return app.compensate not in (None, IRREVERSIBLE)


def takes_any_key(app: App) -> bool:
    """Whether its only identifier is a text of any form, so that the key of any job is one of its own."""
    return len(app.template.names) == 1 and not app.identifiers


def compensation_of(app: App, key: str, undo: App) -> JobName:
    """The job of ``undo`` that undoes this one. ``jobs.catalogue.compensation`` has seen that the two fit."""
    if app.is_keyed_by_template and set(app.template.names) == set(undo.template.names):
        return JobName(undo.name, undo.write_key(app.read_key(key)))
    return JobName(undo.name, key)
