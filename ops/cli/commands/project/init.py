"""Command ``sluice init``: create a small project to start from. Existing files are not touched.

The project has two apps, a schedule, their tests, and the settings to run them here. One app needs the other.
"""

import argparse
from pathlib import Path

from sluice.jobs.errors import BadRequest
from sluice.ops.cli.command import DONE, Options
from sluice.ops.cli.command_context import CommandContext
from sluice.ops.cli.page import Paragraph, Table
from sluice.ops.starter import files

#: Maximum number of existing files that the error names.
_NAMED_MAX = 5
_NEXT = (
    ("sluice plan report 2026-11-20", "list the jobs that would run, in their order"),
    ("sluice run report 2026-11-20", "run it here"),
    ("python -m pytest", "run its tests, if pytest is installed"),
)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        default=".",
        metavar="FOLDER",
        help="folder of the project, created if it is missing; default: this folder",
    )


def run(context: CommandContext, options: Options) -> int:
    folder = Path(options.folder)
    texts = files()
    _require_room(folder, list(texts))
    for name, text in texts.items():
        # Mode ``x`` does not overwrite a file that another process has just created.
        with (folder / name).open("x") as file:
            file.write(text)
    go = [] if options.folder == "." else [(f"cd {options.folder}", "")]
    context.output.answer(
        {"folder": str(folder), "files": [*texts]},
        Paragraph(f"Made {', '.join(texts)}. Next:"),
        Paragraph(),
        Table(("", ""), [*go, *_NEXT]),
    )
    return DONE


def _require_room(folder: Path, names: list[str]) -> None:
    """Create the folder. BadRequest if that is impossible, or if a file already exists."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadRequest(
            f"The folder cannot be created: {error.strerror}.",
            where=str(folder),
            advice="Name another folder.",
        ) from None
    taken = [name for name in names if (folder / name).exists() or (folder / name).is_symlink()]
    if taken:
        more = f" and {len(taken) - _NAMED_MAX} more" if len(taken) > _NAMED_MAX else ""
        raise BadRequest(
            f"Some files exist already: {', '.join(taken[:_NAMED_MAX])}{more}.",
            where=str(folder.absolute()),
            advice="Nothing was written. Name a new folder: sluice init FOLDER",
        )
