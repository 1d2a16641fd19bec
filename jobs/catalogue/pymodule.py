"""Reading of a module without running it: its imports may be missing where definitions are loaded."""

import symtable
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path


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
