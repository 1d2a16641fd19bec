"""Keys of other jobs, as a running job names them."""

from collections.abc import Mapping

from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.identifiers import Value
from sluice.jobs.model.app import App
from sluice.planner.keyspaces.partitions import partition_keys


def canonical_key(app: App, key: str | None, identifiers: Mapping[str, str], own: Mapping[str, Value]) -> str:
    """Return the canonical key of a job that a running job names. Identifiers that are not given have the values of the
    running job, ``own``. BadRequest if the key or the identifiers do not fit the app."""
    if key is None:
        return _key_of_identifiers(app, identifiers, own)
    if identifiers:
        raise BadRequest(f"The key {key!r} of {app.name} has all identifiers; leave them out.")
    if app.partitioning:
        return partition_keys.canonical_key(app, key)
    return app.write_key(app.read_key(key)) if app.is_keyed_by_template else key


def _key_of_identifiers(app: App, identifiers: Mapping[str, str], own: Mapping[str, Value]) -> str:
    if not app.is_keyed_by_template:
        raise BadRequest(f"{app.name} is not keyed by template.", advice="Pass the key of the job.")
    names = app.template.names
    if unknown := [name for name in identifiers if name not in names]:
        raise BadRequest(f"{app.name} has no identifier {', '.join(unknown)}; it has {', '.join(names)}.")
    if missing := [name for name in names if name not in {*identifiers, *own}]:
        raise BadRequest(f"A job of {app.name} needs its identifiers {', '.join(missing)}.")
    return app.write_key({name: _value(app, name, identifiers, own) for name in names})


def _value(app: App, name: str, identifiers: Mapping[str, str], own: Mapping[str, Value]) -> Value:
    try:
        return app.read_value(name, identifiers[name] if name in identifiers else str(own[name]))
    except ValueError as error:
        raise BadRequest(f"No job of {app.name} has this identifier: {error}.") from None
