"""Command ``sluice init``: create a small project from a template, or add its missing files to a folder.

Existing files are kept unchanged. A folder with a ``pyproject.toml`` is a project already. It gets the definitions,
their tests and the settings only.
"""

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from sluice.jobs.errors import BadRequest
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph, Table
from sluice.ops.starter import DEFAULT, TEMPLATES, commands, files

#: File of a Python project. Such a project has its own description, and its own rules for git.
_PROJECT = "pyproject.toml"
_OF_NEW_PROJECTS = {"README.md", ".gitignore"}
_DEFINITIONS, _TESTS, _SETTINGS, _IGNORED = "pipeline.py", "test_pipeline.py", "sluice.toml", ".gitignore"
#: Text that an existing file must contain, so that it fits the template. Default: the text of the template.
_NEEDED = {_SETTINGS: _DEFINITIONS, _IGNORED: ".sluice"}
#: Commands of all templates. They are also useful for definitions of the user.
_GENERAL = ("sluice up", "python -m pytest")


class _Files(Struct, frozen=True, kw_only=True):
    """Names of the files of a template, by their treatment."""

    written: list[str]
    #: Existing files, and among them the files that do not fit the template.
    kept: list[str]
    unfit: list[str]
    left_out: list[str]


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        default=".",
        metavar="FOLDER",
        help="folder of the project, created if it is missing; default: this folder",
    )
    parser.add_argument(
        "--template",
        choices=[*TEMPLATES],
        default=DEFAULT,
        help="template of the project; default: %(default)s",
    )
    listed = "\n".join(f"  {name:<12}{sentence}" for name, sentence in TEMPLATES.items())
    parser.add_argument_group("templates", listed)


def run(context: CommandContext, options: Options) -> int:
    folder = Path(options.folder)
    found = _add_missing(folder, options.template)
    answer = {"folder": str(folder), "template": options.template}
    answer |= {"written": found.written, "kept": found.kept, "left_out": found.left_out}
    go = [] if options.folder == "." else [(f"cd {shlex.quote(options.folder)}", "")]
    context.output.answer(
        answer,
        *map(Paragraph, _summary(found)),
        Paragraph("Next:"),
        Paragraph(),
        Table(("", ""), [*go, *_next(options.template, found)]),
    )
    return DONE


def _add_missing(folder: Path, template: str) -> _Files:
    """Write the files of a template that the folder does not have. BadRequest if a file cannot be written."""
    texts = files(template)
    written: list[str] = []
    kept: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        not_needed = _OF_NEW_PROJECTS if (folder / _PROJECT).exists() else ()
        left_out = [name for name in texts if name in not_needed and not (folder / name).exists()]
        for name in (name for name in texts if name not in left_out):
            (written if _is_new(folder / name, texts[name]) else kept).append(name)
    except OSError as error:
        raise BadRequest(
            f"The project cannot be created: {error.strerror}.",
            where=str(error.filename or folder),
            advice="Name another folder: sluice init FOLDER",
        ) from None
    unfit = [name for name in kept if not _contains(folder / name, _NEEDED.get(name, texts[name]))]
    return _Files(written=written, kept=kept, unfit=unfit, left_out=left_out)


def _is_new(path: Path, text: str) -> bool:
    """Write a file unless it exists. Mode ``x`` keeps a file that another process has just created."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _contains(path: Path, text: str) -> bool:
    return path.is_file() and text.encode() in path.read_bytes()


def _summary(found: _Files) -> Iterator[str]:
    if found.written:
        yield f"Written: {', '.join(found.written)}."
    if found.kept:
        yield f"Kept unchanged: {', '.join(found.kept)}."
    if not found.written:
        yield "No file is missing, so nothing was written."
    if found.left_out:
        yield f"Left out, because the folder has a {_PROJECT}: {', '.join(found.left_out)}."
    yield from _advice(found)


def _advice(found: _Files) -> Iterator[str]:
    """Yield the changes that existing files need, so that the written files fit them."""
    if _DEFINITIONS in found.unfit and _TESTS in found.written:
        yield f"{_TESTS} is for the template's {_DEFINITIONS}. Adapt it to yours."
    if _SETTINGS in found.unfit and _DEFINITIONS in found.written:
        yield f"Add {_DEFINITIONS} to apps in your {_SETTINGS}."
    if found.written and _IGNORED in (*found.unfit, *found.left_out):
        yield f"Add .sluice/, the folder of the embedded ledger, to your {_IGNORED}."


def _next(template: str, found: _Files) -> Iterator[tuple[str, str]]:
    """Yield commands with their purpose. The commands for the template's apps are left out if the apps are others."""
    if _DEFINITIONS in found.unfit:
        yield "sluice apps show", "list your apps"
    for command, purpose in commands(template):
        if _DEFINITIONS not in found.unfit or command in _GENERAL:
            yield command, purpose
