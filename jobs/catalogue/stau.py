"""Stau's way to write a job: a file with its functions, and a mapping ``STAU_CONFIG`` of the words beside them.

Besides the words of any app that is keyed by chunk it has three of its own. ``job_type`` is the app's name, which is
that of the file; ``main_func`` names the function, and is ``main`` where it is not there; ``is_streaming`` means
nothing. A function ``select_work`` needs no word.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from sluice.jobs.api import Definition, ScheduleDefinition
from sluice.jobs.catalogue.draft import Entry
from sluice.jobs.catalogue.faults import At
from sluice.jobs.catalogue.functions import text_of

CONFIG = "STAU_CONFIG"
_OWN_WORDS = ("job_type", "main_func", "is_streaming")
_SELECT = "select_work"


def read_config(module: ModuleType, place: str, at: At) -> Iterator[Entry]:
    """The app of a module, if it is written this way. ``place`` is by what another process finds the module."""
    if CONFIG not in vars(module):
        return
    config = vars(module)[CONFIG]
    stem = Path(place).stem if place.endswith(".py") else place.rpartition(".")[2]
    if not isinstance(config, Mapping):
        yield Entry(origin=at.source, name=stem, words=config)
        return
    name, main = config.get("job_type", stem), config.get("main_func", "main")
    of_app = at.of_app(name if isinstance(name, str) else stem)
    if name != stem:
        of_app.add(f"job_type: {name!r} is not the name of its file, {stem}; call them alike")
    if not isinstance(config.get("is_streaming", False), bool):
        of_app.add(f"is_streaming: {config['is_streaming']!r} is neither true nor false")
    yield Entry(
        origin=at.source,
        name=of_app.app,
        words=_words(config, module),
        function=_function(main, module, of_app),
        function_path=f"{place}:{main}",
        text=_text(module, main),
        spent=_OWN_WORDS,
    )


def _words(config: Mapping[Any, object], module: ModuleType) -> dict[Any, object]:
    """One that does not say its size is keyed by chunk all the same, and at fault."""
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
    """What the job does: which function, and all that is written there but the words of the app, which are looked at
    one by one, and of schedules. Empty where there is no text to be had."""
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
    """None of a module whose file has been edited since it was imported, and cannot be any more."""
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
