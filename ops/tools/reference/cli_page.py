"""``docs/cli.md``: every command, made from its parser."""

import argparse
from collections.abc import Iterator

from sluice.ops.cli.command import Command, CommandGroup
from sluice.ops.cli.commands import COMMANDS
from sluice.ops.cli.examples import examples
from sluice.ops.cli.parser import Parser

_HEAD = """# The command line

`sluice [--apps SOURCE]… [--ledger URL] [--broker URL] [--json] COMMAND`

This page is generated from the commands. `sluice COMMAND --help` prints the same, and
[bash, zsh and fish](install.md#shell-completion) complete commands and options.

People get tables, colour and progress on a terminal. With `--json`, stdout gets one JSON document and
nothing else. An error has a line each for the fault, its place and the remedy.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | the work failed |
| 2 | a bad definition, key or option, or an unknown job |
| 3 | the ledger or the broker is out of reach |
| 70 | an internal error of Sluice |
| 124 | the time of `--wait-timeout` is over; the submission continues |
| 130 | interrupted |

## Options of every command

"""


def page() -> str:
    parts = [_HEAD + _table(_shared()), *(_section(way, command) for way, command in _ways())]
    return "\n\n".join(parts) + "\n"


def _ways() -> Iterator[tuple[str, Command]]:
    for entry in COMMANDS:
        if isinstance(entry, CommandGroup):
            yield from ((f"{entry.word} {each.word}", each) for each in entry.commands)
        else:
            yield entry.word, entry


def _shared() -> list[argparse.Action]:
    return [each for each in Parser("sluice", "")._actions if "--help" not in each.option_strings]


def _section(way: str, command: Command) -> str:
    parser = Parser(f"sluice {way}", command.help)
    shared = {flag for each in parser._actions for flag in each.option_strings}
    command.load().options(parser)
    own = [each for each in parser._actions if not shared.intersection(each.option_strings)]
    arguments = [each for each in own if not each.option_strings]
    usage = " ".join([f"sluice {way}", *map(_argument, arguments)])
    parts = [f"## {way}", f"{command.help[:1].upper()}{command.help[1:]}.", f"`{usage}`"]
    if rows := [each for each in own if each.help or each.option_strings]:
        parts.append(_table(rows))
    parts.append("\n".join(["```sh", *examples(way), "```"]))
    return "\n\n".join(parts)


def _argument(action: argparse.Action) -> str:
    name = _name(action)
    if action.nargs == "?":
        return f"[{name}]"
    return {"*": f"[{name}…]", "+": f"{name}…"}.get(str(action.nargs), name)


def _name(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    return "|".join(map(str, action.choices)) if action.choices else action.dest.upper()


def _table(actions: list[argparse.Action]) -> str:
    rows = (f"| {_cell(each)} | {_said(each)} |" for each in actions)
    return "\n".join(["| argument or option | meaning |", "|---|---|", *rows])


def _cell(action: argparse.Action) -> str:
    if not action.option_strings:
        return f"`{_name(action)}`".replace("|", "\\|")
    value = "" if action.nargs == 0 else f" {_name(action)}"
    many = "…" if action.nargs in ("+", "*") else ""
    return f"`{', '.join(action.option_strings)}{value}{many}`".replace("|", "\\|")


def _said(action: argparse.Action) -> str:
    told = (action.help or "") % {"default": action.default}
    return told.replace("|", "\\|")
