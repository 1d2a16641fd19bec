"""The page about the installation: its packages, extras and shells exist."""

import re
import tomllib

import pytest

from sluice.ops.cli.commands import COMMANDS
from sluice.ops.cli.commands.project.completion import script
from tests.ops.typist import ROOT

PAGE = (ROOT / "docs" / "install.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Extras that need a checkout.
FOR_DEVELOPERS = {"bench", "dev", "dev-full"}


def test_the_page_names_the_package_and_the_required_python() -> None:
    assert f"package is called `{PROJECT['name']}`" in PAGE
    assert f"Python {PROJECT['requires-python'].removeprefix('>=')} or newer" in PAGE


def test_the_table_has_all_extras_for_users() -> None:
    extras = set(PROJECT["optional-dependencies"])
    assert set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE)) == extras - FOR_DEVELOPERS
    named = {extra for group in re.findall(r"'[\w.-]*\[([\w,-]+)\]'", PAGE) for extra in group.split(",")}
    assert named <= extras - FOR_DEVELOPERS
    assert all(f"`{extra}`" in PAGE for extra in FOR_DEVELOPERS)


@pytest.mark.parametrize("shell", re.findall(r"sluice completion (\w+)", PAGE))
def test_each_shell_of_the_page_has_a_completion_script(shell: str) -> None:
    assert "doctor" in script(shell, COMMANDS)
