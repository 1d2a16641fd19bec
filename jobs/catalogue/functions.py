"""Users' functions by their path: ``package.module:name`` or ``path/to/file.py:name``.

A file is run under a module name made from its path, so that two files of one name do not meet. Whoever
loads it from another process by the same path gets the same function.
"""

import ast
import hashlib
import importlib
import importlib.util
import inspect
import sys
import sysconfig
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from jobs.api import Definition
from jobs.errors import DefinitionError, Fault


def resolve_function(path: str) -> Callable[..., Any]:
    """The user's own function; DefinitionError where there is none."""
    try:
        return find_function(path)
    except ValueError as error:
        raise DefinitionError((Fault(path, "", str(error)),)) from None


def find_function(path: str) -> Callable[..., Any]:
    """As ``resolve_function``, with a ValueError of one line."""
    place, colon, name = path.rpartition(":")
    if not (place and colon and name):
        raise ValueError(f"{path!r} is not the path of a function; write package.module:name")
    found: object = load_file(Path(place)) if place.endswith(".py") else load_module(place)
    for part in name.split("."):
        found = getattr(found, part, None)
    function = found.function if isinstance(found, Definition) else found
    if not callable(function):
        raise ValueError(f"{place} has no function {name!r}")
    return function


def load_module(name: str) -> ModuleType:
    """An importable module, from the current folder too; ValueError says what went wrong, and where."""
    _make_importable(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise ValueError(f"there is no Python module {name!r} here or on the path") from None
        raise ValueError(_blame(error)) from None
    except (Exception, SystemExit) as error:
        raise ValueError(_blame(error)) from None


def load_file(path: Path, *, fresh: bool = False) -> ModuleType:
    """The module of a Python file. ``fresh`` runs the file though this process has done so before."""
    path = path.absolute()
    name = f"sluice_{path.stem}_{hashlib.blake2b(str(path).encode(), digest_size=6).hexdigest()}"
    if name in sys.modules and not fresh:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"there is no Python file {path}")
    _make_importable(path.parent)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise ValueError(_blame(error)) from None
    return module


def source_of(function: Callable[..., Any]) -> str:
    """Its text from ``def`` on, without decorators; empty where there is none to be had."""
    try:
        text = textwrap.dedent(inspect.getsource(function))
        definition = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return ""
    return "\n".join(text.split("\n")[definition.lineno - 1 :])


def _make_importable(folder: Path) -> None:
    """At the end of the path: a folder of the user's hides neither our rooms nor the standard library."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    importlib.invalidate_caches()


def _blame(error: BaseException) -> str:
    """One line: what was raised, at which line of the user's own code."""
    what = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)
    ]
    own = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)] or frames
    return f"{own[-1].filename}, line {own[-1].lineno}: {what}" if own else what


_LIBRARIES = tuple(
    {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
)


def _is_machinery(filename: str) -> bool:
    return filename.startswith("<") or filename in {__file__, importlib.__file__}
