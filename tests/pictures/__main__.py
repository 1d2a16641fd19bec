"""Renew the pictures in ``docs/pictures``, or in the folder that is given."""

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.browser import chromium
from tests.pictures import kill
from tests.pictures.scene import scene_in
from tests.pictures.screens import take

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.pictures", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="default: docs/pictures")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sluice-pictures-") as home:
        kill.write(Path(home), folder / "kill.svg")
    with ExitStack() as stack:
        home = stack.enter_context(tempfile.TemporaryDirectory(prefix="sluice-pictures-"))
        console = stack.enter_context(scene_in(Path(home)))
        take(stack.enter_context(chromium()), console.address, folder)


if __name__ == "__main__":
    main()
