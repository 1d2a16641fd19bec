"""A small project to start from: the files that ``sluice init`` writes.

Each file is stored here with ``.txt`` added to its name, because it is no part of this program. It belongs to the user
as soon as it is written.
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
