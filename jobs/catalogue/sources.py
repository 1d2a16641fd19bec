"""Sources of definitions: files, Python modules, folders of Python files, addresses on a server."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

from msgspec.structs import replace

from sluice.jobs.address import without_password
from sluice.jobs.api import Definition, ScheduleDefinition
from sluice.jobs.catalogue.confs import confs_of_document, planned
from sluice.jobs.catalogue.default_ids import default_of_document, default_of_folder, default_of_module
from sluice.jobs.catalogue.documents import SUFFIXES, read_document, read_stored
from sluice.jobs.catalogue.draft import ConfEntry, Entry, ScheduleEntry, Selector
from sluice.jobs.catalogue.faults import At, Faults
from sluice.jobs.catalogue.functions import load_file, load_module
from sluice.jobs.catalogue.remote import Fetch, Unread, is_address
from sluice.jobs.catalogue.schedules import schedules_of_document
from sluice.jobs.catalogue.stau import read_config

_DEFAULT = "default_job_id"
_SCHEDULES = "schedules"
_NO_APP = "it defines no app; put @app(…) of jobs above a function, or write a STAU_CONFIG"


Written: TypeAlias = Entry | ScheduleEntry | ConfEntry


def read_source(source: str, faults: Faults, fetch: Fetch) -> list[Written]:
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
    if _SCHEDULES in document:
        yield from schedules_of_document(document.pop(_SCHEDULES), name_of(at.source), at)
    ids = default_of_document(document, at)
    for name, words in document.items():
        yield Entry(
            origin=at.source, name=name, words=words, default_job_id=_default(default, at), default_ids=ids
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
    return _served(entries, default_of_module(module, at))


def _from_files(paths: Iterable[Path], faults: Faults, at: At) -> list[Written]:
    """Return the definitions of these files. Each file runs by itself, so a fault in one does not hide those in
    others.
    """
    entries: list[Written] = []
    defaults: dict[str, Selector] = {}
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
        if default := default_of_module(module, of_file):
            defaults[path.name] = default
    if not entries and not broken:
        at.add(_NO_APP)
    return _served(entries, default_of_folder(defaults, at))


def _served(entries: list[Written], default: Selector | None) -> list[Written]:
    return [replace(entry, default_ids=default) if isinstance(entry, Entry) else entry for entry in entries]


def _defined(module: ModuleType, place: str, at: At) -> Iterator[Entry]:
    """Yield every definition among the module's names, including imported ones, once each and in order."""
    default = _default(getattr(module, _DEFAULT, None), at)
    names: dict[int, str] = {}
    for attribute, value in vars(module).items():
        if isinstance(value, Definition) and names.setdefault(id(value), attribute) == attribute:
            yield Entry(
                origin=at.source,
                name=value.name,
                words=value.words,
                default_job_id=default,
                function=value.function,
                function_path=f"{place}:{attribute}",
            )
    yield from read_config(module, place, at)


def _scheduled(module: ModuleType, source: str, at: At) -> Iterator[ScheduleEntry]:
    """Yield every schedule among the module's names, by itself or in a list, once each and in order."""
    seen: set[int] = set()
    for value in vars(module).values():
        for each in value if isinstance(value, list | tuple) else [value]:
            if isinstance(each, ScheduleDefinition) and id(each) not in seen:
                seen.add(id(each))
                yield ScheduleEntry(
                    origin=at.source, source=source, id=each.id, words=each.words, definition=each
                )


def _default(value: object, at: At) -> str | None:
    if value is not None and not isinstance(value, str):
        at.add(f"{_DEFAULT}: {value!r} is not a text, such as {{date}}_{{client_id}}")
        return None
    return value
