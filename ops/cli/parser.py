"""Parser for the command line: from arguments to a command and its options.

Words are read one by one, so that only the module of the called command is imported for its options. The common options
are accepted before and after each word.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import NoReturn

from sluice.jobs.errors import BadRequest
from sluice.ops.cli.command import Action, Command, CommandGroup, Options
from sluice.ops.cli.commands import COMMANDS, SECTIONS
from sluice.ops.cli.examples import examples
from sluice.ops.documents.formats import FORMATS, WIDE

PROGRAM = "sluice"
#: First line of the help.
ABOUT = "Define jobs and their dependencies, and run them on any number of workers."
#: By a word that other tools have for it: a command, or the first that exists in the group.
_ELSEWHERE = {
    "backfill": ("submit",),
    "clear": ("retry",),
    "delete": ("cancel",),
    "describe": ("show",),
    "get": ("show",),
    "kill": ("cancel",),
    "list": ("ls", "show"),
    "ls": ("show",),
    "migrate": ("db",),
    "ps": ("workers",),
    "serve": ("console",),
    "start": ("up",),
    "status": ("submissions",),
    "stop": ("cancel", "pause"),
    "trigger": ("submit", "fire"),
    "validate": ("apps", "check"),
}
#: The option for the format, also at the end of short flags, like ``-wo json``. ``-n`` takes a value.
_OUTPUT = re.compile("(?:--output=?|-[a-mp-z]*o)(.*)")


class _Version(argparse.Action):
    """Action that looks the version up only if it is requested, because that takes longer than a help text."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from sluice.jobs.release import release  # noqa: PLC0415 - slower than most commands

        sys.stdout.write(f"{PROGRAM} {release()}\n")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """Argument parser that raises BadRequest, so that a wrong option is reported like any other error."""

    def __init__(self, way: str, description: str, epilog: str = "") -> None:
        super().__init__(
            prog=way,
            description=description,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            conflict_handler="resolve",  # Two commands write files, and have an option --output of their own.
        )
        self._add_common_options()

    def _add_common_options(self) -> None:
        common = self.add_argument_group("common options")
        common.add_argument(
            "--apps",
            action="append",
            default=[],
            metavar="SOURCE",
            help="source of definitions; may be repeated; default: SLUICE_APPS",
        )
        common.add_argument(
            "--ledger",
            metavar="URL",
            help="like postgresql://…; default: SLUICE_LEDGER_URL, or the embedded ledger",
        )
        common.add_argument(
            "--broker",
            metavar="URL",
            help="like amqp://…, redis://… or memory://; default: SLUICE_BROKER_URL, or memory://",
        )
        common.add_argument(
            "-o",
            "--output",
            dest="form",
            choices=[*FORMATS, WIDE],
            help="format of the answer: json, yaml, name (only the names, one per line), or wide (no line is"
            " shortened); default: for people",
        )
        common.add_argument("--json", action="store_true", help="the same as -o json")
        common.add_argument(
            "-q", "--quiet", action="store_true", help="write no progress and no notes to stderr"
        )
        common.add_argument("--verbose", action="store_true", help="write more to stderr")
        common.add_argument("--debug", action="store_true", help="print the tracebacks of errors")

    def format_help(self) -> str:
        """Return the help with examples at the end."""
        lines = "\n".join(f"  {line}" for line in examples(self.prog))
        return f"{super().format_help()}\nexamples:\n{lines}\n" if lines else super().format_help()

    def error(self, message: str) -> NoReturn:
        raise BadRequest(
            f"{message[:1].upper()}{message[1:]}.",
            where=self.prog,
            advice=f"`{self.prog} --help` lists the arguments and options.",
        )


def format_of(arguments: Sequence[str]) -> str | None:
    """Return the format that the arguments choose. It is needed before they are parsed, for errors in them."""
    if "--json" in arguments:
        return "json"
    for flag, following in pairwise([*arguments, ""]):
        found = _OUTPUT.fullmatch(flag)
        chosen = (found[1] or following) if found else None
        if chosen in (*FORMATS, WIDE):
            return chosen
    return None


def parse(arguments: Sequence[str]) -> tuple[Action, Options]:
    """Return the action and its options. BadRequest if the arguments cannot be parsed. The options include ``way``, the
    command's words, and ``makes_ledger``.
    """
    options = Options(rest=list(arguments))
    way, help_ = PROGRAM, ABOUT
    commands: Sequence[Command | CommandGroup] = COMMANDS
    listed = _sectioned()
    while True:
        entry = _choose(way, help_, listed, commands, options)
        way, help_ = f"{way} {entry.word}", entry.help
        if isinstance(entry, Command):
            break
        commands, listed = entry.commands, _listed("commands", entry.commands)
    action = entry.load()
    options.way, options.makes_ledger = way, entry.makes_ledger
    parser = Parser(way, help_)
    action.options(parser)
    parser.parse_intermixed_args(options.rest, options)
    if options.form == WIDE and "whole" in options:
        options.whole = True
    if "/" in (getattr(options, "app", None) or "") and "key" in options:
        _split_job(parser, options)
    return action, options


def _split_job(parser: Parser, options: Options) -> None:
    """Read ``APP/KEY`` as an app and a key: no name of an app has a slash. Further keys may be written so too."""
    app, _, key = options.app.partition("/")
    if isinstance(options.key, list):
        options.key = [key, *(each.removeprefix(f"{app}/") for each in options.key)]
    elif options.key:
        parser.error(f"{options.app!r} and {options.key!r} are two keys; write APP KEY or APP/KEY")
    else:
        options.key = key
    options.app = app


def _sectioned() -> str:
    by_word = {entry.word: entry for entry in COMMANDS}
    return "\n\n".join(_listed(title, [by_word[word] for word in words]) for title, words in SECTIONS.items())


def _listed(title: str, commands: Sequence[Command | CommandGroup]) -> str:
    return "\n".join([f"{title}:", *(f"  {entry.word:<14}{entry.help}" for entry in commands)])


def _choose(
    way: str, help_: str, listed: str, commands: Sequence[Command | CommandGroup], options: Options
) -> Command | CommandGroup:
    """Read one word and the common options before it. The arguments after it are left in ``options.rest``. Without a
    word, print the help and exit.
    """
    parser = Parser(way, help_, epilog=listed)
    if way == PROGRAM:
        parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument("word", metavar="COMMAND", nargs="?", help="command from the list below")
    parser.add_argument(
        "rest",
        nargs=argparse.REMAINDER,
        metavar="…",
        help="arguments and options of the command; its --help lists them",
    )
    parser.parse_args(options.rest, options)
    if options.word is None:
        parser.print_help()
        parser.exit()
    found = {entry.word: entry for entry in commands}.get(options.word)
    if found is None:
        words = [entry.word for entry in commands] + (["--version"] if way == PROGRAM else [])
        parser.error(f"there is no command {options.word!r}{_hint(options.word, words)}")
    return found


def _hint(typed: str, words: Sequence[str]) -> str:
    known = [each for each in _ELSEWHERE.get(typed, ()) if each in words]
    matches = known or get_close_matches(typed, words)
    return f" (did you mean {matches[0]}?)" if matches else ""


def job_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("app", metavar="APP", help="app of the job, or APP/KEY")
    parser.add_argument(
        "key", metavar="KEY", nargs="?", default="", help="key of the job; default: the empty key"
    )
