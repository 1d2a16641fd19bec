"""Help of the command line: what it prints without a command, and a text for every argument."""

import argparse
from collections.abc import Iterator
from itertools import chain

import pytest

from sluice.ops.cli.command import Command, CommandGroup
from sluice.ops.cli.commands import COMMANDS, SECTIONS
from sluice.ops.cli.main import main
from sluice.ops.cli.parser import Parser


def helped(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the help that is printed for these words."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_without_a_command_the_help_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    said = helped(capsys=capsys)
    assert [title for title in SECTIONS if f"\n{title}:\n" not in said] == []
    assert said == helped("--help", capsys=capsys)


@pytest.mark.parametrize(
    "group", [each for each in COMMANDS if isinstance(each, CommandGroup)], ids=lambda group: group.word
)
def test_without_a_command_of_a_group_its_help_is_printed(
    group: CommandGroup, capsys: pytest.CaptureFixture[str]
) -> None:
    said = helped(group.word, capsys=capsys)
    assert [each.word for each in group.commands if f"\n  {each.word} " not in said] == []


def test_each_command_is_in_one_section() -> None:
    assert sorted(chain(*SECTIONS.values())) == sorted(each.word for each in COMMANDS)


def arguments() -> Iterator[tuple[str, argparse.Action]]:
    for entry in COMMANDS:
        commands = entry.commands if isinstance(entry, CommandGroup) else (entry,)
        for command in commands:
            way = command.word if isinstance(entry, Command) else f"{entry.word} {command.word}"
            parser = Parser(way, "")
            command.load().options(parser)
            yield from ((way, each) for each in parser._actions)


@pytest.mark.parametrize("word", ["run", "submit", "plan", "freshness"])
def test_an_optional_argument_is_not_named_as_missing(word: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([word]) == 2
    assert "The following arguments are required: APP.\n" in capfd.readouterr().err


def test_each_argument_has_a_text() -> None:
    assert [(way, each.dest) for way, each in arguments() if not each.help] == []


def test_the_text_of_each_option_with_a_value_has_its_default() -> None:
    valued = [(way, each) for way, each in arguments() if each.option_strings and each.nargs != 0]
    assert len(valued) > 100
    lacking = {
        (way, each.dest) for way, each in valued if not each.required and "default" not in (each.help or "")
    }
    assert lacking == {("autoscale", "queue")}, "at least one is required"
