"""Loading of sources into a catalogue. Each step adds its faults and continues with the rest."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from sluice.jobs.app import App
from sluice.jobs.catalogue.compensation import check_compensations
from sluice.jobs.catalogue.concurrency import check_pools
from sluice.jobs.catalogue.confs import read_confs
from sluice.jobs.catalogue.definitions import Catalogue
from sluice.jobs.catalogue.digest import code_of, digest
from sluice.jobs.catalogue.draft import ConfEntry, Draft, Entry, ScheduleEntry
from sluice.jobs.catalogue.faults import Faults, nearest
from sluice.jobs.catalogue.graph import cycles
from sluice.jobs.catalogue.kept_words import kept_words
from sluice.jobs.catalogue.kinds import settle_kinds
from sluice.jobs.catalogue.lineage import link_tables, with_versions
from sluice.jobs.catalogue.linking import link_apps
from sluice.jobs.catalogue.remote import Fetch, fetch_nothing
from sluice.jobs.catalogue.schedules import read_schedules
from sluice.jobs.catalogue.sources import name_of, read_source
from sluice.jobs.catalogue.typed import type_apps
from sluice.jobs.catalogue.words import read_app
from sluice.jobs.submission import UNKNOWN_APP_GRACE_S

#: Jobs that one job may need or trigger, and that one definition may enumerate, at most.
LIMIT = 1_000_000


def load(
    sources: Sequence[str],
    *,
    default_job_id: str | None = None,
    delimiter: str = "_",
    limit: int = LIMIT,
    fetch: Fetch = fetch_nothing,
    instead: Mapping[str, Mapping[str, object]] = {},
    unknown_app_grace_s: float = UNKNOWN_APP_GRACE_S,
) -> Catalogue:
    """Return the apps and schedules of all sources as one catalogue. Raises DefinitionError with all faults.

    ``default_job_id`` is for apps without one in their source. ``fetch`` reads sources that are addresses.
    ``instead`` has options, by app, that replace the written ones.
    """
    faults = Faults()
    _check_delimiter(delimiter, faults)
    written = [each for source in sources for each in read_source(source, faults, fetch)]
    entries = (_revised(each, instead) for each in written if isinstance(each, Entry))
    drafts = link_tables(_read(entries, default_job_id, delimiter, faults), faults)
    _check_graph(drafts, faults)
    check_pools(drafts.values())
    apps = type_apps(drafts, settle_kinds(drafts), limit)
    # A fault of one app would also cause faults in its neighbours, so only apps without faults are linked.
    sound = {name: _stamped(app, drafts[name]) for name, app in apps.items() if not faults.about(name)}
    check_compensations(drafts, sound)
    alternatives = link_apps(sound, {name: draft.at for name, draft in drafts.items()}, limit)
    timed = (each for each in written if isinstance(each, ScheduleEntry))
    schedules = read_schedules(timed, sound, drafts, faults)
    confs = read_confs((each for each in written if isinstance(each, ConfEntry)), drafts)
    faults.raise_any()
    return Catalogue(
        with_versions(sound),
        alternatives,
        schedules,
        map(name_of, sources),
        confs,
        unknown_app_grace_s=unknown_app_grace_s,
    )


def _revised(entry: Entry, instead: Mapping[str, Mapping[str, object]]) -> Entry:
    """Return the entry with replaced options. An entry that is not a mapping stays, and its fault is reported later."""
    words = instead.get(entry.name)
    return (
        replace(entry, words={**entry.words, **words})
        if words and isinstance(entry.words, Mapping)
        else entry
    )


def _check_delimiter(delimiter: str, faults: Faults) -> None:
    if (
        not delimiter
        or not delimiter.isprintable()
        or any(char.isalnum() or char in "{} " for char in delimiter)
    ):
        faults.add(
            "SLUICE_KEY_DELIMITER",
            "",
            f"{delimiter!r} cannot separate identifiers; use a character such as '_' or '-'",
        )


def _read(
    entries: Iterable[Entry], default_job_id: str | None, delimiter: str, faults: Faults
) -> dict[str, Draft]:
    """Return each app once. If several sources define it, the first one is used."""
    first: dict[str, Entry] = {}
    for entry in entries:
        other = first.setdefault(entry.name, entry)
        if other is not entry and (entry.function is None or entry.function is not other.function):
            faults.add(entry.origin, entry.name, f"it is defined in {other.origin} already")
    return {name: read_app(entry, default_job_id, delimiter, faults) for name, entry in first.items()}


def _check_graph(drafts: Mapping[str, Draft], faults: Faults) -> None:
    known = " among the apps that could be read" if faults.about("") else ""
    parents: dict[str, set[str]] = {}
    for draft in drafts.values():
        named = {app for mention in draft.mentions for app in mention.apps}
        needed = {dependency.app for dependency in (draft.chunking.dependencies if draft.chunking else ())}
        _check_parents("depends_on", named, draft, drafts, known)
        _check_parents("dependencies", needed, draft, drafts, known)
        # A function may lead from an app back to the same app with another key. The walk checks for cycles of jobs.
        firm = {app for mention in draft.mentions if not mention.function for app in mention.apps}
        parents[draft.name] = (firm | needed | _producers(draft)) & drafts.keys()
    for path in cycles(parents):
        drafts[path[0]].at.add(f"the apps depend on each other in a circle: {' -> '.join(path)}")


def _producers(draft: Draft) -> set[str]:
    """Return the apps that fill the tables it reads."""
    tables = draft.partitioning.dependencies if draft.partitioning else ()
    return {each.producer for each in tables if each.producer}


def _check_parents(
    word: str, apps: Iterable[str], draft: Draft, drafts: Mapping[str, Draft], known: str
) -> None:
    at = draft.at.inside(word)
    for app in sorted(apps):
        if app not in drafts:
            at.add(f"there is no app {app!r}{known}{nearest(app, drafts)}")
        elif drafts[app].partitioning:
            at.add(
                f"{app} is keyed by partition, so neither a key nor a work ID leads to its jobs;"
                " only an app that reads its table can need it, by table_dependencies"
            )
        elif draft.chunking and drafts[app].work.unbounded:
            at.add(f"{app} is_long_running, so its work IDs never finish")
        elif draft.chunking and not drafts[app].chunking:
            at.add(f"{app} has no jobs for work IDs, because it is not keyed by chunk; give it a chunk_size")
        elif drafts[app].chunking and not draft.chunking:
            at.add(
                f"{app} is keyed by chunk, so no key leads to its jobs;"
                " only an app with chunk_size can need it, by dependencies"
            )


def _stamped(app: App, draft: Draft) -> App:
    return replace(app, digest=digest(draft), code=code_of(draft), words=kept_words(draft))
