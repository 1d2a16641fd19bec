"""Small projects to start from: the templates of ``sluice init``.

Each template has a folder here. Files that are the same in all templates are in ``common/``; a file of the template
overrides them. Each file is stored with ``.txt`` added to its name, because it is no part of this program.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

#: Sentence about each template, by its name.
TEMPLATES: Mapping[str, str] = {
    "minimal": "Two apps with keys by day, their dependency, and a schedule.",
    "partitions": "Tables by day, made from an external table, with a backfill.",
    "chunks": "The same work for many IDs, in chunks, with freshness.",
    "saga": "Steps with undo, and an approval by an event.",
    "service": "A web service that submits jobs, waits for results and looks them up.",
}
DEFAULT = "minimal"

_FOLDER = Path(__file__).parent
_COMMON = "common"
_SUFFIX = ".txt"
#: Names that begin with a dot in the project. Under that name, git would apply the file to this folder.
_HIDDEN = {"gitignore": ".gitignore"}


def files(template: str = DEFAULT) -> Mapping[str, str]:
    """Return the text of each file of a template, by its name in the project."""
    found = {
        path.name: path for folder in (_COMMON, template) for path in (_FOLDER / folder).glob(f"*{_SUFFIX}")
    }
    names = {name.removesuffix(_SUFFIX): path for name, path in sorted(found.items())}
    return {_HIDDEN.get(name, name): path.read_text(encoding="utf-8") for name, path in names.items()}


def commands(template: str) -> Iterator[tuple[str, str]]:
    """Yield the commands to begin with, and the purpose of each, from the README of a template."""
    for line in files(template)["README.md"].splitlines():
        if line.startswith("    "):
            command, _, purpose = line.partition(" # ")
            yield command.strip(), purpose.strip()
