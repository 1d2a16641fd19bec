"""Stau's form of a job, and work IDs for submissions that select none.

Stau's form of a job is a file with functions, and the options in a mapping ``STAU_CONFIG``. In addition to the options
of any app that is keyed by chunk, it has three of its own. ``job_type`` is the app's name, which must be the file's
name. ``main_func`` names the function; default: ``main``. ``is_streaming`` has no effect. A function called
``select_work`` is used without an option.

``default_work_ids`` at the top of a source are the work IDs for submissions if neither they nor their app select any.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from sluice.jobs.api.decorators import ScheduleDefinition
from sluice.jobs.api.definition import Definition
from sluice.jobs.catalogue.errors import At
from sluice.jobs.catalogue.fields.chunk_options import read_selector
from sluice.jobs.catalogue.fields.draft import Selector, UnreadApp
from sluice.jobs.catalogue.sources.functions import text_of, text_place

CONFIG = "STAU_CONFIG"
_OWN_WORDS = ("job_type", "main_func", "is_streaming")
_SELECT = "select_work"


def read_config(module: ModuleType, place: str, at: At) -> Iterator[UnreadApp]:
    """Yield the app of a module in Stau's form. ``place`` is the path by which another process finds the module."""
    if CONFIG not in vars(module):
        return
    config = vars(module)[CONFIG]
    stem = Path(place).stem if place.endswith(".py") else place.rpartition(".")[2]
    if not isinstance(config, Mapping):
        yield UnreadApp(origin=at.source, name=stem, words=config)
        return
    name, main = config.get("job_type", stem), config.get("main_func", "main")
    of_app = at.of_app(name if isinstance(name, str) else stem)
    if name != stem:
        of_app.add(f"job_type: {name!r} is not the name of its file, {stem}; give both the same name")
    if not isinstance(config.get("is_streaming", False), bool):
        of_app.add(f"is_streaming: {config['is_streaming']!r} is neither true nor false")
    yield UnreadApp(
        origin=at.source,
        name=of_app.app,
        words=_words(config, module),
        function=_function(main, module, of_app),
        function_path=f"{place}:{main}",
        text=_text(module, main),
        spent=_OWN_WORDS,
    )


def _words(config: Mapping[Any, object], module: ModuleType) -> dict[Any, object]:
    """Return the options. Without ``chunk_size`` the app still counts as keyed by chunk, so that it gets a fault."""
    select = getattr(module, _SELECT, None)
    words = {word: value for word, value in config.items() if word not in _OWN_WORDS}
    return {"chunk_size": None, **({} if select is None else {_SELECT: select}), **words}


def _function(main: object, module: ModuleType, at: At) -> Callable[..., Any] | None:
    found = getattr(module, main, None) if isinstance(main, str) else None
    function = found.function if isinstance(found, Definition) else found
    if callable(function):
        return cast("Callable[..., Any]", function)
    at.add(f"main_func: the file has no function {main!r}")
    return None


def _text(module: ModuleType, main: object) -> str:
    """Return the text of the work: the function's name, and the module without the app's options and schedules.

    The options are compared one by one elsewhere. Empty if the text is not available.
    """
    text = text_of(module)
    lines = text.split("\n")
    words = {CONFIG, *(name for name, value in vars(module).items() if _is_schedule(value))}
    for statement in reversed(_statements(text)):
        if words.intersection(_assigned(statement)):
            del lines[statement.lineno - 1 : statement.end_lineno]
    return text and "\n".join([str(main), *lines])


def _is_schedule(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_schedule, value))
    return isinstance(value, ScheduleDefinition)


def _statements(text: str) -> list[ast.stmt]:
    """Return the statements of a text. Empty if the file was edited since its import and can no longer be parsed."""
    try:
        return ast.parse(text).body
    except SyntaxError:
        return []


def _assigned(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(name)):
            return [name]
    return []


_WORD = "default_work_ids"
#: Stau's name for ``default_work_ids``, in modules only.
_ALIAS = "get_default_work_ids"


def default_of_document(document: dict[str, object], at: At) -> Selector | None:
    """Remove ``default_work_ids`` from the document and return its function. The remaining entries are apps."""
    return _read(_WORD, document.pop(_WORD, None), at)


def default_of_module(module: ModuleType, at: At) -> Selector | None:
    written = {word: vars(module)[word] for word in (_WORD, _ALIAS) if vars(module).get(word) is not None}
    if len(written) > 1:
        at.add(f"{_WORD} and {_ALIAS} are two names of one option; write only one")
    return next((_read(word, value, at) for word, value in written.items()), None)


def default_of_folder(found: Mapping[str, Selector], at: At) -> Selector | None:
    """Return the one ``default_work_ids`` of the folder's files. A file may import it from another file."""
    if len({text_place(selector.function) for selector in found.values()}) > 1:
        at.add(f"{_WORD}: it is set in {', '.join(found)} and applies to the whole folder; set it once")
    return next(iter(found.values()), None)


def _read(word: str, value: object, at: At) -> Selector | None:
    if value is None:
        return None
    try:
        return read_selector(value)
    except ValueError as error:
        at.add(f"{word}: {error}")
        return None
