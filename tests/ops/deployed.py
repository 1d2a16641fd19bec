"""Check of the variables and commands in deployment files against Sluice itself."""

import re
from collections.abc import Sequence
from pathlib import Path

from sluice.actors import checkup
from sluice.ops.cli.commands import COMMANDS
from sluice.ops.cli.parser import parse

_ROOT = Path(__file__).parents[2]
#: A call in ``settings.py`` that reads a variable. It contains the name of the variable.
_TAKEN = re.compile(r'(?:take|found\.take)\(\s*"([A-Z_]+)"')


def settings() -> set[str]:
    """Return the names of the environment variables that the settings read."""
    text = (_ROOT / "actors" / "settings.py").read_text()
    return {f"SLUICE_{name}" for name in _TAKEN.findall(text)}


def understood(command: Sequence[str]) -> None:
    """Fail if Sluice has no such command, or does not accept its arguments."""
    match list(command):
        case ["sluice", *words]:
            parse(words, COMMANDS)
        case ["python", "-m", "sluice.actors.checkup", *words]:
            checkup._parser().parse_args(words)
        case _:
            raise AssertionError(f"{command} is not ours")
