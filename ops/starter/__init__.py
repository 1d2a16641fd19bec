"""A small project to start from: what ``sluice init`` writes.

Its files lie here under their names and a ``.txt`` behind them, for they are no part of this program: they are a user's
from the moment on that they are written.
"""

from collections.abc import Mapping
from pathlib import Path

_SUFFIX = ".txt"
#: Here it would be taken for ours.
_HIDDEN = {"gitignore": ".gitignore"}


def files() -> Mapping[str, str]:
    """The text of each file, by its name in the project."""
    found = sorted(Path(__file__).parent.glob(f"*{_SUFFIX}"))
    names = {path: path.name.removesuffix(_SUFFIX) for path in found}
    return {_HIDDEN.get(name, name): path.read_text() for path, name in names.items()}
