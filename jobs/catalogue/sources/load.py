"""Loading of all sources into a catalogue.

A source of definitions is a file, a Python module, a folder of Python files, or an address on a server. Each step of
``load`` adds its faults and continues with the rest.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from msgspec.structs import replace

from sluice.jobs.api.decorators import ScheduleDefinition
from sluice.jobs.api.definition import Definition
from sluice.jobs.api.hooks import Hooks
from sluice.jobs.catalogue.catalogue import Catalogue
from sluice.jobs.catalogue.cycles import cycles
from sluice.jobs.catalogue.errors import At, DefinitionFaults, nearest
from sluice.jobs.catalogue.fields.app_options import read_app
from sluice.jobs.catalogue.fields.compensation_option import check_compensations
from sluice.jobs.catalogue.fields.draft import ConfEntry, Draft, ScheduleEntry, Selector, UnreadApp
from sluice.jobs.catalogue.fields.notify_option import (
    NamedReceivers,
    read_notify,
    read_receivers,
    with_named_receivers,
    with_receivers,
    with_source_rules,
)
from sluice.jobs.catalogue.fields.policy_options import check_pools
from sluice.jobs.catalogue.fields.schedule_options import read_schedules, schedules_of_document
from sluice.jobs.catalogue.resolve.dependency_links import Alternative, link_apps
from sluice.jobs.catalogue.resolve.digest import code_of, digest
from sluice.jobs.catalogue.resolve.stored_options import kept_words
from sluice.jobs.catalogue.resolve.tables import (
    confs_of_document,
    link_tables,
    planned,
    read_confs,
    with_versions,
)
from sluice.jobs.catalogue.resolve.tables_of_days import check_tables_of_days
from sluice.jobs.catalogue.resolve.types import settle_kinds, type_apps
from sluice.jobs.catalogue.sources.formats import SUFFIXES, read_document, read_stored
from sluice.jobs.catalogue.sources.functions import load_file, load_module, text_place
from sluice.jobs.catalogue.sources.python_options import declarative
from sluice.jobs.catalogue.sources.remote import Fetch, Unread, fetch_nothing, is_address
from sluice.jobs.catalogue.sources.stau import (
    default_of_document,
    default_of_folder,
    default_of_module,
    read_config,
)
from sluice.jobs.model.app import App
from sluice.jobs.model.submission import UNKNOWN_APP_GRACE_S
from sluice.jobs.notifications.rules import NotifyRule
from sluice.jobs.text.server_address import without_password

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
    faults = DefinitionFaults()
    _check_delimiter(delimiter, faults)
    written = [each for source in sources for each in read_source(source, faults, fetch)]
    entries = [_revised(each, instead) for each in written if isinstance(each, UnreadApp)]
    drafts = link_tables(_read(entries, default_job_id, delimiter, faults), faults)
    _check_graph(drafts, faults)
    check_pools(drafts.values())
    apps = type_apps(drafts, settle_kinds(drafts), limit)
    # A fault of one app would also cause faults in its neighbours, so only apps without faults are linked.
    sound = {name: _stamped(app, drafts[name]) for name, app in apps.items() if not faults.about(name)}
    check_compensations(drafts, sound)
    sound = with_source_rules(sound, {each.name: each.notify for each in reversed(entries)})
    alternatives = _linked(sound, drafts, limit)
    timed = (each for each in written if isinstance(each, ScheduleEntry))
    schedules = with_receivers(read_schedules(timed, sound, drafts, faults), sound, faults)
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


def _revised(entry: UnreadApp, instead: Mapping[str, Mapping[str, object]]) -> UnreadApp:
    """Return the entry with replaced options. An entry that is not a mapping stays, and its fault is reported later."""
    words = instead.get(entry.name)
    return (
        replace(entry, words={**entry.words, **words})
        if words and isinstance(entry.words, Mapping)
        else entry
    )


def _check_delimiter(delimiter: str, faults: DefinitionFaults) -> None:
    if (
        not delimiter
        or not delimiter.isprintable()
        or any(char.isalnum() or char in "{} " for char in delimiter)
    ):
        faults.add(
            "SLUICE_KEY_DELIMITER",
            "",
            f"{delimiter!r} cannot separate identifiers; use a character like '_' or '-'",
        )


def _read(
    entries: Iterable[UnreadApp], default_job_id: str | None, delimiter: str, faults: DefinitionFaults
) -> dict[str, Draft]:
    """Return each app once. If several sources define it, the first one is used."""
    first: dict[str, UnreadApp] = {}
    for entry in entries:
        other = first.setdefault(entry.name, entry)
        if other is not entry and not _have_one_function(entry, other):
            faults.add(entry.origin, entry.name, f"it is defined in {other.origin} already")
    return {
        name: replace(read_app(entry, default_job_id, delimiter, faults), hooks=entry.hooks)
        for name, entry in first.items()
    }


def _have_one_function(one: UnreadApp, other: UnreadApp) -> bool:
    """Return whether two entries are the same definition, which one source may import from another.

    A file that runs as a source and is also imported makes two functions of one text.
    """
    if one.function is None or other.function is None:
        return False
    return one.function is other.function or text_place(one.function) == text_place(other.function)


def _check_graph(drafts: Mapping[str, Draft], faults: DefinitionFaults) -> None:
    known = " among the apps that could be read" if faults.about("") else ""
    parents: dict[str, set[str]] = {}
    for draft in drafts.values():
        named = {app for mention in draft.mentions for app in mention.apps}
        named -= _check_needed_chunks(draft, drafts)
        needed = {dependency.app for dependency in (draft.chunking.dependencies if draft.chunking else ())}
        _check_parents("depends_on", named, draft, drafts, known)
        _check_parents("dependencies", needed, draft, drafts, known)
        # A function may lead from an app back to the same app with another key. The walk checks for cycles of jobs.
        firm = {app for mention in draft.mentions if not mention.function for app in mention.apps}
        parents[draft.name] = (firm | needed | _producers(draft)) & drafts.keys()
    for path in cycles(parents):
        drafts[path[0]].at.add(f"the apps depend on each other in a circle: {' -> '.join(path)}")


def _check_needed_chunks(draft: Draft, drafts: Mapping[str, Draft]) -> set[str]:
    """Return the apps keyed by chunk that jobs with keys need by a two-way function. Adds a fault if that cannot be
    planned."""
    if draft.chunking or draft.partitioning:
        return set()
    named = {app for mention in draft.mentions if mention.function for app in mention.apps} & drafts.keys()
    chunked = {app for app in named if drafts[app].chunking}
    if chunked:
        at = draft.at.inside("depends_on")
        for fault in _faults_of_needed_chunks(draft, drafts, chunked):
            at.add(fault)
    return chunked


def _faults_of_needed_chunks(draft: Draft, drafts: Mapping[str, Draft], chunked: set[str]) -> Iterator[str]:
    needs = f"it needs chunks of {', '.join(sorted(chunked))}"
    if len(draft.groups) > 1:
        yield f"{needs}, so it has no alternatives; write all of its mappings in one group"
    if draft.filling and draft.filling.dependencies:
        yield f"{needs}, so it cannot have table_dependencies too"
    for app in sorted(chunked):
        if drafts[app].work.unbounded:
            yield f"{app} is_long_running, so its work IDs never finish"
    for mention in draft.mentions:
        if mention.when not in (None, "succeeded") and chunked.intersection(mention.apps):
            yield f"{needs}; such a mapping cannot have when: {mention.when}"


def _producers(draft: Draft) -> set[str]:
    """Return the apps that fill the tables it reads."""
    tables = draft.filling.dependencies if draft.filling else ()
    return {name for each in tables if (name := each.producer or each.daily_maker)}


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
        elif word == "dependencies" and drafts[app].work.unbounded:
            at.add(f"{app} is_long_running, so its work IDs never finish")
        elif word == "dependencies" and not drafts[app].chunking:
            at.add(
                f"{app} has no jobs for work IDs, because it is not keyed by chunk; give it a chunk_size,"
                " or name it in depends_on with a two-way function"
            )
        elif word == "depends_on" and drafts[app].chunking:
            way = (
                "list it in dependencies"
                if draft.chunking
                else "give the mapping a _func, which names work IDs"
            )
            at.add(f"{app} is keyed by chunk, so no key leads to its jobs; {way}")


def _linked(
    apps: Mapping[str, App], drafts: Mapping[str, Draft], limit: int
) -> dict[str, tuple[Alternative, ...]]:
    """Return the alternatives of each app. Adds a fault for each relation that is not determined."""
    places = {name: draft.at for name, draft in drafts.items()}
    alternatives = link_apps(apps, places, limit)
    check_tables_of_days(apps, alternatives, places)
    return alternatives


def _stamped(app: App, draft: Draft) -> App:
    return replace(app, digest=digest(draft), code=code_of(draft), words=kept_words(draft))


_DEFAULT = "default_job_id"
#: A list under this name has the rules of a source. An app may have the same name, but is no list.
_NOTIFY = "notify"
_RECEIVERS = "receivers"
_SCHEDULES = "schedules"
_NO_APP = "it defines no app; put @app(…) of jobs above a function, or write a STAU_CONFIG"


Written: TypeAlias = UnreadApp | ScheduleEntry | ConfEntry


def read_source(source: str, faults: DefinitionFaults, fetch: Fetch) -> list[Written]:
    """Return the apps, schedules and confs of one source, unread."""
    if is_address(source):
        return _from_server(source, At(faults, without_password(source)), fetch)
    at = At(faults, source)
    path = Path(source)
    if path.suffix.lower() in SUFFIXES:
        return list(_from_document(read_document(path, at), at))
    if path.suffix == ".py":
        return _from_files([path], faults, at)
    if path.is_file():
        at.add(f"it is none of {', '.join(sorted({*SUFFIXES, '.py'}))}, a folder or a Python module")
    elif _is_module(source, path):
        return _from_module(source, at)
    elif path.is_dir():
        return _from_files(_python_files(path), faults, at)
    else:
        at.add("there is no such file or folder, and it is not the name of a Python module")
    return []


def files_of(source: str) -> list[Path]:
    """Return the files that each load reads again. Empty for a module that Python imports, and for an address."""
    path = Path(source)
    if is_address(source):
        return []
    if path.suffix.lower() in {*SUFFIXES, ".py"} or path.is_file():
        return [path]
    return [] if _is_module(source, path) else _python_files(path)


def name_of(source: str) -> str:
    """Return the name of a source. It does not depend on the folder in which the process was started.

    An address is returned without its password.
    """
    path = Path(source)
    if is_address(source):
        return without_password(source)
    is_file = path.suffix.lower() in {*SUFFIXES, ".py"}
    return source if not is_file and _is_module(source, path) else str(path.absolute())


def _python_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.glob("*.py") if file.name != "__init__.py")


def _is_module(source: str, path: Path) -> bool:
    """Return whether the source is a module. A folder counts as one if Python would treat it as a package."""
    named = all(part.isidentifier() for part in source.split("."))
    return named and (not path.is_dir() or (path / "__init__.py").exists())


def _from_server(address: str, at: At, fetch: Fetch) -> list[Written]:
    stored = fetch(address)
    if isinstance(stored, Unread):
        at.add(stored.why)
        return []
    return list(_from_document(read_stored(stored, at), at))


def _from_document(document: dict[str, object], at: At) -> Iterator[Written]:
    document = planned(document, at)
    default = document.pop(_DEFAULT, None)
    yield from confs_of_document(document, at)
    receivers = read_receivers(document.pop(_RECEIVERS, {}), at)
    if _SCHEDULES in document:
        for entry in schedules_of_document(document.pop(_SCHEDULES), name_of(at.source), at):
            yield _named(entry, receivers, at)
    ids = default_of_document(document, at)
    notify = _notify(document.pop(_NOTIFY), receivers, at) if isinstance(document.get(_NOTIFY), list) else ()
    for name, options in document.items():
        words = with_named_receivers(options, receivers, at.of_app(name))
        yield UnreadApp(
            origin=at.source,
            name=name,
            words=words,
            default_job_id=_default(default, at),
            default_ids=ids,
            notify=notify,
        )


def _from_module(name: str, at: At) -> list[Written]:
    try:
        module = load_module(name)
        entries: list[Written] = [*_defined(module, name, at), *_scheduled(module, name, at)]
    except ValueError as error:
        at.add(str(error))
        return []
    if not entries:
        at.add(_NO_APP)
    return _served(entries, default_of_module(module, at), _hooks(module, name))


def _from_files(paths: Iterable[Path], faults: DefinitionFaults, at: At) -> list[Written]:
    """Return the definitions of these files. Each file runs by itself, so a fault in one does not hide those in
    others.
    """
    entries: list[Written] = []
    defaults: dict[str, Selector] = {}
    hooks: list[str] = []
    broken = False
    for path in paths:
        of_file = At(faults, str(path))
        try:
            module = load_file(path, fresh=True)
            entries += _defined(module, str(path.absolute()), of_file)
            entries += _scheduled(module, name_of(at.source), of_file)
        except ValueError as error:
            of_file.add(str(error))
            broken = True
            continue
        hooks += _hooks(module, str(path.absolute()))
        if default := default_of_module(module, of_file):
            defaults[path.name] = default
    if not entries and not broken:
        at.add(_NO_APP)
    return _served(entries, default_of_folder(defaults, at), hooks)


def _served(entries: list[Written], default: Selector | None, hooks: Sequence[str]) -> list[Written]:
    return [
        replace(entry, default_ids=default, hooks=tuple(hooks)) if isinstance(entry, UnreadApp) else entry
        for entry in entries
    ]


def _hooks(module: ModuleType, place: str) -> list[str]:
    """Return the paths of the hooks among the module's names."""
    return [f"{place}:{name}" for name, value in vars(module).items() if isinstance(value, Hooks)]


def _defined(module: ModuleType, place: str, at: At) -> Iterator[UnreadApp]:
    """Yield every definition among the module's names, including imported ones, once each and in order."""
    default = _default(getattr(module, _DEFAULT, None), at)
    receivers = _receivers(module, at)
    rules = getattr(module, _NOTIFY, None)
    notify = _notify(rules, receivers, at) if isinstance(rules, list) else ()
    names: dict[int, str] = {}
    for attribute, value in vars(module).items():
        if isinstance(value, Definition) and names.setdefault(id(value), attribute) == attribute:
            of_app = at.of_app(value.name)
            yield UnreadApp(
                origin=at.source,
                name=value.name,
                words=with_named_receivers(declarative(value.options, of_app), receivers, of_app),
                default_job_id=default,
                function=value.function,
                function_path=f"{place}:{attribute}",
                notify=notify,
            )
    for entry in read_config(module, place, at):
        words = with_named_receivers(entry.words, receivers, at.of_app(entry.name))
        yield replace(entry, words=words, notify=notify)


def _scheduled(module: ModuleType, source: str, at: At) -> Iterator[ScheduleEntry]:
    """Yield every schedule among the module's names, by itself or in a list, once each and in order."""
    receivers = _receivers(module, At(DefinitionFaults(), at.source))  # ``_defined`` adds its faults.
    seen: set[int] = set()
    for value in vars(module).values():
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, ScheduleDefinition) and id(each) not in seen:
                seen.add(id(each))
                entry = ScheduleEntry(
                    origin=at.source,
                    source=source,
                    id=each.id,
                    words=declarative(each.options, at),
                    definition=each,
                )
                yield _named(entry, receivers, at)


def _named(entry: ScheduleEntry, receivers: NamedReceivers, at: At) -> ScheduleEntry:
    """Return a schedule with the receivers that its rules name."""
    return replace(
        entry, words=with_named_receivers(entry.words, receivers, at.inside(f"{_SCHEDULES}.{entry.id}"))
    )


def _receivers(module: ModuleType, at: At) -> NamedReceivers:
    """Return the receivers at the top of a module. Another object of this name is not for Sluice."""
    found = getattr(module, _RECEIVERS, None)
    if not isinstance(found, dict):
        return {}
    return read_receivers(declarative({_RECEIVERS: found}, at).get(_RECEIVERS, {}), at)


def _notify(value: object, receivers: NamedReceivers, at: At) -> tuple[NotifyRule, ...]:
    """Return the rules of a source for all of its apps."""
    words = with_named_receivers(declarative({_NOTIFY: value}, at), receivers, at)
    return read_notify(words, at) if isinstance(words, Mapping) else ()


def _default(value: object, at: At) -> str | None:
    if value is not None and not isinstance(value, str):
        at.add(f"{_DEFAULT}: {value!r} is not a text like {{date}}_{{client_id}}")
        return None
    return value
