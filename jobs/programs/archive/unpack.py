"""Unpacking of a fetched file to the tree of its program."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, Final

from sluice.jobs.programs.archive.decompress import CHUNK_BYTES, Stream
from sluice.jobs.programs.archive.members import Members
from sluice.jobs.programs.archive.safe_tree import Tree
from sluice.jobs.programs.archive.tar_files import read_tar
from sluice.jobs.programs.archive.zip_files import read_zip
from sluice.jobs.programs.content_digest import Contents, Survey
from sluice.jobs.programs.fetch.download import Patience
from sluice.jobs.programs.source import Form, Rules

RUN_SH: Final = "run.sh"


def survey(archive: Path, form: Form, rules: Rules, patience: Patience) -> Contents:
    """Return the contents of the archive without writing anything. Unfit if it breaks a rule."""
    found = Survey(rules, patience)
    _read(archive, form, found, rules, patience)
    return found.contents()


def unpack(archive: Path, form: Form, into: Path, rules: Rules, patience: Patience) -> bool | None:
    """Create the folder ``into``. Return whether its ``run.sh`` is executable, or None if it has none.

    Unfit if the archive breaks a rule or the disk fails; the files created by then remain. A bare ``run.sh`` is made
    executable. A fetch from a place that has file modes checks the mode earlier.
    """
    with closing(Tree(into, rules, patience)) as tree:
        _read(archive, form, tree, rules, patience)
        return tree.is_executable(RUN_SH)


def _read(archive: Path, form: Form, members: Members, rules: Rules, patience: Patience) -> None:
    with archive.open("rb") as file:
        if form == "run.sh":
            members.add_file((RUN_SH,), 0o755, _chunks(file))
        elif form == "zip":
            read_zip(file, members, rules)
        else:
            with closing(Stream(file, form, rules, patience)) as stream:
                read_tar(stream, members)
    members.finish()


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
