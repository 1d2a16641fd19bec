"""From a fetched file to the tree of its program."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO, Final

from jobs.programs.patience import Patience
from jobs.programs.rules import Rules
from jobs.programs.source import Form
from jobs.programs.streams import CHUNK_BYTES, Stream
from jobs.programs.tars import unpack_tar
from jobs.programs.tree import Tree
from jobs.programs.zips import unpack_zip

RUN_SH: Final = "run.sh"


def unpack(archive: Path, form: Form, into: Path, rules: Rules, patience: Patience) -> bool | None:
    """Make the folder ``into``: whether its ``run.sh`` is executable, None where it has none.

    Unfit where the archive is not to be trusted, and where the disk does not take it; what was made until then stays.
    A bare ``run.sh`` is made executable: who has it fetched from where modes exist looks at them before.
    """
    with archive.open("rb") as file, closing(Tree(into, rules, patience)) as tree:
        if form == "run.sh":
            tree.add_file((RUN_SH,), 0o755, _chunks(file))
        elif form == "zip":
            unpack_zip(file, tree, rules)
        else:
            with closing(Stream(file, form, rules, patience)) as stream:
                unpack_tar(stream, tree)
        tree.finish()
        return tree.is_executable(RUN_SH)


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
