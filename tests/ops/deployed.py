"""Check of the variables and commands in deployment files against Sluice itself."""

import re
from collections.abc import Sequence
from inspect import getsource

from sluice.actors import checkup
from sluice.actors.settings import settings as module
from sluice.ops.cli.parser import parse

#: A call in the module of the settings that reads a variable. It contains the name of the variable.
_TAKEN = re.compile(r'(?:take|found\.take)\(\s*"([A-Z_]+)"')


def settings() -> set[str]:
    """Return the names of the environment variables that the settings read."""
    return {f"SLUICE_{name}" for name in _TAKEN.findall(getsource(module))}


def understood(command: Sequence[str]) -> None:
    """Fail if Sluice has no such command, or does not accept its arguments."""
    match list(command):
        case ["sluice", *words]:
            parse(words)
        case ["python", "-m", "sluice.actors.checkup", *words]:
            checkup._parser().parse_args(words)
        case _:
            raise AssertionError(f"{command} is not ours")
