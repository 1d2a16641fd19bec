"""Keys of jobs that fill partitions, and the partitions that submissions request by app or by conf.

A conf stands for the app that its mode ends in, run in that mode (``meant``).
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.catalogue.errors import nearest
from sluice.jobs.errors import BadKey, BadRequest
from sluice.jobs.keys.calendar import Calendar, Span
from sluice.jobs.keys.partitions import (
    UNBOUNDED,
    Partitioning,
    landing_key,
    read_landing_key,
    read_span,
    span_text,
    with_slice,
    with_version,
    without_slice,
    without_version,
)
from sluice.jobs.model.app import App
from sluice.jobs.model.submission import Submission
from sluice.planner.keyspaces.partitions.ranges import united
from sluice.planner.keyspaces.protocol import SituationalKeyspace

_FOREIGN = ("work_ids", "after")
#: Span that stands for all partitions of a long-running service, which has a single job.
ALWAYS = Span(0, 0)


class PartitionKeyspace(SituationalKeyspace):
    """Keyspace of apps that fill partitions. A key names the partitions that one job makes. Which jobs exist depends on
    the partitions that existed when they were planned."""

    def canonical(self, app: App, key: str) -> str:
        return canonical_key(app, key)

    def expand(self, app: App, submission: Submission) -> Iterator[str]:
        return (key_of(each, span) for each, spans in asked_for(app, submission) for span in spans)


def partitioning_of(app: App) -> Partitioning:
    """Return the partitioning of an app; BadRequest if the app is not keyed by partition."""
    if app.partitioning is None:
        raise BadRequest(f"{app.name} is not keyed by partition.", where=app.name)
    return app.partitioning


def filling_of(app: App) -> Partitioning:
    """Return the table that the app's jobs fill, by steps or by keys. BadRequest if they fill none."""
    if app.filling is None:
        raise BadRequest(f"{app.name} fills no table.", where=app.name)
    return app.filling


def key_of(app: App, span: Span) -> str:
    """Return the key of the job that makes these partitions. If the table has a second dimension, the app is for their
    slice."""
    text = UNBOUNDED if app.unbounded else text_of(app, span)
    return with_version(text, app.version)


def text_of(app: App, span: Span) -> str:
    """Return the key without its version."""
    partitioning = partitioning_of(app)
    return with_slice(span_text(partitioning.calendar, span), partitioning.slice)


def canonical_key(app: App, key: str) -> str:
    """Return the canonical spelling of a key; BadKey if it does not fit the app, or names a slice that the app does not
    have."""
    found = app_of_key(app, key)
    by, value = partitioning_of(app).by, partitioning_of(found).slice
    if by and value not in by.values:
        raise BadKey(
            f"{key!r} is not a key of {app.name}: it has no {by.name} {value!r}{nearest(value, by.values)}.",
            where=app.origin,
            advice=f"Its values: {', '.join(by.values)}.",
        )
    return key_of(found, read_key(found, key))


def app_of_key(app: App, key: str) -> App:
    """Return the app for the slice of this key (``App.of_slice``). BadKey if the app has slices and the key names none.

    The definition may no longer have the value, for instance if the job was planned before a change.
    """
    partitioning = partitioning_of(app)
    if partitioning.by is None:
        return app.of_slice(None)
    value, _ = without_slice(without_version(key)[0])
    if value is None:
        raise BadKey(
            f"{key!r} is not a key of {app.name}: it names no {partitioning.by.name}.",
            where=app.origin,
            advice=f"Write it like {partitioning.by.values[0]}/{partitioning.calendar.example}.",
        )
    return app.of_slice(value)


def read_key(app: App, key: str) -> Span:
    """Return the partitions that a key names; BadKey if it does not fit the app or has another version.

    If the table has a second dimension, the app is for the key's slice (``app_of_key``).
    """
    calendar = partitioning_of(app).calendar
    text, version = without_version(key)
    if version not in ("", app.version):
        raise BadKey(
            f"{key!r} is of version {version} of {app.name}; the definitions have {app.version}.",
            where=app.origin,
            advice="Leave the version out to use the current version.",
        )
    if app.unbounded:
        if text != UNBOUNDED:
            raise BadKey(
                f"{key!r} is not a key of {app.name}, whose only job is {UNBOUNDED!r}.", where=app.origin
            )
        return ALWAYS
    value, text = without_slice(text) if partitioning_of(app).slice is not None else (None, text)
    try:
        return read_span(calendar, text)
    except ValueError as error:
        raise BadKey(
            f"{key!r} is not a key of {app.name}: {error}.",
            where=app.origin,
            advice=f"Write it like {with_slice(calendar.example, value)},"
            f" or {with_slice(calendar.example, value)}..{calendar.example} for several.",
        ) from None


def canonical_landing(calendar: Calendar, table: str, key: str) -> str:
    """Return the canonical spelling of a partition of an external table; BadKey if the key names no partition."""
    try:
        partition, or_later = read_landing_key(calendar, key)
    except ValueError as error:
        raise BadKey(f"{key!r} is not a partition of {table}: {error}.", where=table) from None
    return landing_key(calendar, partition, or_later=or_later)


def asked_for(app: App, submission: Submission) -> list[tuple[App, list[Span]]]:
    """Return the partitions that a submission requests, with the app for the slice that they belong to. BadRequest if
    its options do not determine them, or if they begin before the app's first partition."""
    if foreign := submission.words_of(_FOREIGN):
        raise BadRequest(
            f"{app.name} is keyed by partition; {' and '.join(foreign)} do not name partitions.",
            where=app.name,
            advice=f"Give start and end, like {partitioning_of(app).calendar.example}.",
        )
    if app.unbounded:
        return [(app.of_slice(None), [ALWAYS])]
    found = [(each, united(spans)) for each, spans in _asked_for(app, submission)]
    earliest = partitioning_of(app).first
    asked = [span for _, spans in found for span in spans[:1]]
    if earliest is not None and asked and min(asked).first < earliest:
        calendar = partitioning_of(app).calendar
        raise BadRequest(
            f"{app.name} has no partition {calendar.write(min(asked).first)}: its first is {calendar.write(earliest)}.",
            where=app.origin,
        )
    return found


def span_of(app: App, submission: Submission) -> Span | None:
    """Return the partitions from the start to the end of a submission; None if it does not have both."""
    if submission.start is None or submission.end is None:
        return None
    calendar = partitioning_of(app).calendar
    try:
        span = Span(calendar.read(submission.start), calendar.read(submission.end))
    except ValueError as error:
        raise BadRequest(f"{error}.", where=app.name) from None
    if span.last < span.first:
        raise BadRequest(
            f"The submission ends, at {submission.end}, before it starts, at {submission.start}.",
            where=app.name,
        )
    return span


def slices_of(app: App, submission: Submission) -> tuple[App, ...]:
    """Return the app for each slice that a submission requests. Default: all slices."""
    if submission.by is None:
        return app.slices
    by = partitioning_of(app).by
    if by is None:
        raise BadRequest(
            f"{app.name} has no second dimension, so by selects nothing.",
            where=app.name,
            advice="Leave it out.",
        )
    try:
        return tuple(app.of_slice(value) for value in by.chosen(submission.by))
    except ValueError as error:
        raise BadRequest(f"{app.name} cannot be requested like this: {error}.", where=app.origin) from None


def _asked_for(app: App, submission: Submission) -> list[tuple[App, list[Span]]]:
    if submission.named_keys is not None:
        named: dict[str, tuple[App, list[Span]]] = {}
        for key in submission.named_keys:
            found = app_of_key(app, canonical_key(app, key))
            named.setdefault(partitioning_of(found).table, (found, []))[1].append(read_key(found, key))
        return [*named.values()]
    if span := span_of(app, submission):
        return [(each, [span]) for each in slices_of(app, submission)]
    example = partitioning_of(app).calendar.example
    raise BadRequest(
        f"{app.name} is keyed by partition; the submission does not name any.",
        where=app.name,
        advice=f"Give start and end, like {example}.",
    )


def is_by_partition(catalogue: Catalogue, submission: Submission) -> bool:
    """Return whether the submission is about partitions. Branches and confs apply to nothing else."""
    name = submission.app
    if submission.branch is not None or name in catalogue.confs:
        return True
    return name in catalogue and catalogue[name].partitioning is not None


def meant(catalogue: Catalogue, submission: Submission) -> Submission:
    """Return the submission with the app in place of a conf; BadRequest if the conf or the app has no such mode."""
    name, mode = submission.app, submission.layout_mode
    terminals = catalogue.confs.get(name)
    if terminals is None:
        app = catalogue.app(name)
        if mode is not None and app.partitioning and mode not in app.partitioning.modes:
            raise _no_such_mode(name, mode, app.partitioning.modes)
        return submission
    if mode is None and len(terminals) == 1:
        (mode,) = terminals
    if mode is None or mode not in terminals:
        raise _no_such_mode(name, mode, terminals)
    return replace(submission, app=terminals[mode], mode=mode)


def _no_such_mode(name: str, mode: str | None, modes: Iterable[str]) -> BadRequest:
    known = ", ".join(modes) or "it has none"
    what = (
        f"{name} has no mode {mode!r}."
        if mode
        else f"{name} has several modes; the submission does not name any."
    )
    return BadRequest(what, where=name, advice=f"Its modes: {known}.")
