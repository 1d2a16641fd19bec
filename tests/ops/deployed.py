"""What deployment files say that Sluice is started with, held against Sluice itself."""

import re
from collections.abc import Sequence
from pathlib import Path

from sluice.actors import checkup
from sluice.ops.cli.commands import COMMANDS
from sluice.ops.cli.parsing import parse

_ROOT = Path(__file__).parents[2]
#: Each variable that the settings read is named there in the call that takes it.
_TAKEN = re.compile(r'(?:take|found\.take)\(\s*"([A-Z_]+)"')


def settings() -> set[str]:
    """The names of the environment that have a meaning."""
    text = (_ROOT / "actors" / "settings.py").read_text()
    return {f"SLUICE_{name}" for name in _TAKEN.findall(text)}


def understood(command: Sequence[str]) -> None:
    """Fails where a command is none of Sluice's, or is given what it does not take."""
    match list(command):
        case ["sluice", *words]:
            parse(words, COMMANDS)
        case ["python", "-m", "sluice.actors.checkup", *words]:
            checkup._parser().parse_args(words)
        case _:
            raise AssertionError(f"{command} is not ours")
