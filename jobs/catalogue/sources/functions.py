"""Functions, modules and job managers that definitions name.

Users' functions are found by path: ``package.module:name`` or ``path/to/file.py:name``. A file runs under a module name
that is made from its path, so that two files of the same name do not collide. Another process that loads it by the same
path gets the same function.

``read_pymodule`` reads a module without running it, because its imports may be missing where definitions are loaded.
``find_manager`` finds and checks the user's job manager that a ``job_type`` names, before a job exists.
"""

import ast
import hashlib
import importlib
import importlib.util
import inspect
import symtable
import sys
import sysconfig
import textwrap
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.abc import InspectLoader
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn, cast
from weakref import WeakKeyDictionary

from sluice.jobs.api.definition import Definition
from sluice.jobs.errors import DefinitionError, Fault
from sluice.jobs.model.dependency import TwoWay
from sluice.jobs.model.external_work import METHODS


class NotImported:
    """Placeholder for a function, job manager or two-way function while imports are disabled. It can only raise."""

    def _refuse(self, *_: object) -> NoReturn:
        raise RuntimeError("this definition was read without its code")

    run = check = cancel = parents = children = _refuse


_imports: ContextVar[bool] = ContextVar("imports", default=True)


@contextmanager
def not_importing() -> Iterator[None]:
    """Read definitions without their code until the end of the block, in this thread."""
    token = _imports.set(False)
    try:
        yield
    finally:
        _imports.reset(token)


def resolve_function(path: str) -> Callable[..., Any]:
    """Return the user's function. Raises DefinitionError if it does not exist."""
    try:
        return find_function(path)
    except ValueError as error:
        raise DefinitionError((Fault(path, "", str(error)),)) from None


def find_function(path: str) -> Callable[..., Any]:
    """Return the user's function. Raises ValueError with one line if it does not exist."""
    found = find_object(path)
    function = found.function if isinstance(found, Definition) else found
    if not callable(function):
        place, _, name = path.rpartition(":")
        raise ValueError(f"{place} has no function {name!r}")
    return function


def find_two_way(path: str) -> TwoWay:
    """Return the user's object, or an instance of the user's class, as a two-way function.

    Raises ValueError if it has no function ``parents``.
    """
    found = find_object(path)
    try:
        two_way = found() if isinstance(found, type) else found
    except Exception as error:
        raise ValueError(f"{path} cannot be created without arguments: {blame(error)}") from None
    parents, children = getattr(two_way, "parents", None), getattr(two_way, "children", None)
    if not callable(parents) or not (children is None or callable(children)):
        raise ValueError(
            f"{path} has to have the functions parents(app, ids) and children(app, ids);"
            " without children nothing is pushed"
        )
    return TwoWay(path, parents, children)


def find_object(path: str) -> object:
    """Return the object of ``package.module:name``, or None if the module has no such name."""
    place, colon, name = path.rpartition(":")
    if not (place and colon and name):
        raise ValueError(f"{path!r} is not the path of a function; write package.module:name")
    if not _imports.get():
        return NotImported
    found: object = load_file(Path(place)) if place.endswith(".py") else load_module(place)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def load_module(name: str) -> ModuleType:
    """Return an importable module, also from the current folder. Raises ValueError with the error and its place."""
    _make_importable(Path.cwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise ValueError(f"there is no Python module {name!r} here or on the path") from None
        raise ValueError(blame(error)) from None
    except (Exception, SystemExit) as error:
        raise ValueError(blame(error)) from None


def load_file(path: Path, *, fresh: bool = False) -> ModuleType:
    """Return the module of a Python file. With ``fresh`` the file runs again even if this process has run it before."""
    path = path.absolute()
    name = module_name(path)
    before = sys.modules.get(name)
    if before is not None and not fresh:
        return before
    spec = importlib.util.spec_from_file_location(name, path, loader=_Compiling(name, str(path)))
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"there is no Python file {path}")
    _make_importable(path.parent)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        if before is not None:
            # Functions in use may still look up names in the old module.
            sys.modules[name] = before
        raise ValueError(blame(error)) from None
    return module


def module_name(path: Path) -> str:
    """Return the module name under which a Python file runs."""
    path = path.absolute()
    return f"sluice_{path.stem}_{hashlib.blake2b(str(path).encode(), digest_size=6).hexdigest()}"


def is_users_own(filename: str) -> bool:
    """Return whether code is outside Python's standard library and the installed packages."""
    return not filename.startswith(_LIBRARIES)


def path_of(function: Callable[..., Any]) -> str:
    """Return the path by which ``find_function`` finds it, if it is at the top of its module."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    place = getattr(function, "__module__", None) or type(function).__module__
    module = sys.modules.get(place)
    if module is not None and isinstance(module.__loader__, _Compiling):
        return f"{module.__file__}:{name}"
    return f"{place}:{name}"


def text_place(function: Callable[..., Any]) -> tuple[str, str]:
    """Return the file and the name of a function. A file that runs twice, as a source and by an import, creates two
    functions with the same place.
    """
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_qualname) if code else ("", path_of(function))


def source_of(function: Callable[..., Any]) -> str:
    """Return the function's text from ``def`` on, without decorators; empty if it is not available.

    The text of the first call is kept, because a function does not change when its file is edited.
    """
    if function in _TEXTS:
        return _TEXTS[function]
    try:
        text = textwrap.dedent(inspect.getsource(function))
        definition = ast.parse(text).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return ""
    _TEXTS[function] = "\n".join(text.split("\n")[definition.lineno - 1 :])
    return _TEXTS[function]


def text_of(module: ModuleType) -> str:
    """Return the whole text of a module, as of the first call; empty if it is not available."""
    if module not in _TEXTS_OF_MODULES:
        try:
            text = cast("InspectLoader", module.__loader__).get_source(module.__name__)
        except (AttributeError, ImportError, SyntaxError, ValueError):
            text = None
        _TEXTS_OF_MODULES[module] = text or ""
    return _TEXTS_OF_MODULES[module]


_TEXTS: WeakKeyDictionary[Callable[..., Any], str] = WeakKeyDictionary()
_TEXTS_OF_MODULES: WeakKeyDictionary[ModuleType, str] = WeakKeyDictionary()


class _Compiling(SourceFileLoader):
    """Loader without Python's cache of compiled files. That cache misses an edit within the same second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _make_importable(folder: Path) -> None:
    """Append the folder to the path. At the end, it cannot hide our packages or the standard library."""
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    importlib.invalidate_caches()


def blame(error: BaseException) -> str:
    """Return one line with the exception and the line of the user's own code that raised it."""
    what = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ")
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not _is_machinery(frame.filename)
    ]
    own = [frame for frame in frames if is_users_own(frame.filename)] or frames
    return f"{own[-1].filename}, line {own[-1].lineno}: {what}" if own else what


_LIBRARIES = tuple(
    {sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
)


def _is_machinery(filename: str) -> bool:
    return filename.startswith("<") or filename in {__file__, importlib.__file__}


def read_pymodule(name: str, main: str) -> str:
    """Return the text of ``package.module`` or ``path/to/file.py``.

    Raises ValueError if it does not exist or does not define ``main``.
    """
    path = Path(name) if name.endswith(".py") else _find(name)
    try:
        text = path.read_text()
        names = symtable.symtable(text, str(path), "exec")
    except (OSError, UnicodeDecodeError):
        raise ValueError(f"there is no Python file {path}") from None
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}") from None
    bound = {each.get_name() for each in names.get_symbols() if each.is_assigned() or each.is_imported()}
    if main not in bound and "import *" not in text:
        raise ValueError(f"{name} has no function {main!r}")
    return text


def _find(name: str) -> Path:
    """Return the file that an import would find. The packages that contain it do not run."""
    places: Sequence[str] = [*sys.path, str(Path.cwd())]
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:end]), places)
        if spec is None:
            raise ValueError(f"there is no Python module {name!r} here or on the path")
        places = spec.submodule_search_locations or ()
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        raise ValueError(f"{name} is no module of Python text")
    return Path(spec.origin)


def find_manager(path: str) -> type:
    """Return the user's class at this path. Raises ValueError if it is not a job manager."""
    found = find_object(path)
    if found is None:
        place, _, name = path.rpartition(":")
        raise ValueError(f"{place} has no class {name!r}")
    return as_manager(found.function if isinstance(found, Definition) else found, path)


def as_manager(found: object, path: str) -> type:
    """Return the class unchanged. Raises ValueError with the missing parts if it is not a job manager."""
    if not isinstance(found, type):
        raise ValueError(f"{path} is no class; a job manager is one, with {', '.join(METHODS)}")
    missing = [name for name in METHODS if not callable(getattr(found, name, None))]
    if missing:
        raise ValueError(f"{path} is no job manager: it has no {', '.join(missing)}")
    if not _is_made_without_arguments(found):
        raise ValueError(f"{path} cannot be created without arguments, and each run creates one")
    return found


def _is_made_without_arguments(found: type) -> bool:
    try:
        inspect.signature(found).bind()
    except TypeError:
        return False
    except ValueError:  # A class written in C has no signature; an error appears when one is made.
        return True
    return True
