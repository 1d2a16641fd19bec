"""The page of the Python API has every public name, and a description of each of its parts."""

import inspect
from pathlib import Path
from textwrap import dedent

import pytest

import sluice
from sluice import retry, testing
from sluice.ops.tools.reference import api_page
from sluice.ops.tools.reference.api_page import EXAMPLES, OF_SLUICE, SECTIONS, Entry, Section
from sluice.ops.tools.reference.api_source import Shape, alias, routine, shape

ENTRIES = [entry for section in SECTIONS for entry in section.entries]
RULES = {
    f"retry.{name}"
    for name, rule in inspect.getmembers(retry, inspect.isfunction)
    if rule.__module__ == retry.__name__ and not name.startswith("_")
}


def test_the_page_has_every_public_name() -> None:
    names = {*sluice.__all__, *testing.__all__, *RULES} - {"retry"}
    assert names <= {entry.name for entry in ENTRIES} | {entry.heading for entry in ENTRIES}


@pytest.mark.parametrize("name", [name for name in sluice.__all__ if name != "retry"])
def test_a_name_of_the_package_is_described_from_its_own_module(name: str) -> None:
    assert [entry.module for entry in ENTRIES if entry.name == name] == [getattr(sluice, name).__module__]


def test_every_part_of_the_page_has_a_description() -> None:
    assert api_page.undescribed() == []


def test_each_example_belongs_to_a_heading() -> None:
    assert EXAMPLES.keys() <= {entry.heading for entry in ENTRIES}


def test_members_that_are_left_out_exist() -> None:
    for entry in (entry for entry in ENTRIES if entry.name in OF_SLUICE):
        found = shape(entry.module, entry.name)
        assert set(OF_SLUICE[entry.name]) <= _members(found), entry.name
    assert OF_SLUICE.keys() <= {entry.name for entry in ENTRIES}


def _members(found: Shape) -> set[str]:
    return {each.name for each in [*found.fields, *found.attributes]} | {each.name for each in found.methods}


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "an_api.py").write_text(
        dedent(
            '''
            from typing import ClassVar, Literal, Protocol, TypeAlias, overload
            from msgspec import Struct

            #: Name, or
            #: number.
            Ref: TypeAlias = str | int

            @overload
            def find(name: str, /) -> "Found": ...
            @overload
            def find(name: str, limit: int, *, mode: Literal["a", "b"] = "a") -> list["Found"]: ...
            def find(name, limit=None, *, mode="a"):
                """Find by ``name``, at most ``limit``."""

            class Found(Struct, frozen=True, kw_only=True):
                """Something that was found."""

                #: Its name.
                name: str
                size: int = 0
                word: ClassVar[str] = "found"

                @property
                def title(self) -> str: ...

                def _private(self) -> None: ...

            class Finder:
                def __init__(self, home: str, *names: str) -> None:
                    #: Folder.
                    self.home = home
                    self.names: tuple[str, ...] = names
                    self._count = 0

                async def look(self, **words: Ref) -> None:
                    """Look for ``words``."""
            '''
        )
    )
    return "an_api"


def test_signatures_are_as_the_source_has_them(module: str) -> None:
    assert [call.text("find") for call in routine(module, "find").calls] == [
        "find(name: str, /) -> Found",
        'find(name: str, limit: int, *, mode: Literal["a", "b"] = "a") -> list["Found"]',
    ]
    assert shape(module, "Found").constructor.text("Found") == "Found(*, name: str, size: int = 0)"
    finder = shape(module, "Finder")
    assert finder.constructor.text("Finder") == "Finder(home: str, *names: str) -> None"
    assert [each.calls[0].text("finder.look") for each in finder.methods] == [
        "await finder.look(**words: Ref) -> None"
    ]
    assert [(each.name, each.type, each.about) for each in finder.attributes] == [
        ("home", "str", "Folder."),
        ("names", "tuple[str, ...]", ""),
    ]
    assert (alias(module, "Ref").type, alias(module, "Ref").about) == ("str | int", "Name, or\nnumber.")


def test_missing_descriptions_are_found(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = (
        Entry(module=module, name="find"),
        Entry(module=module, name="Found", is_made=True),
        Entry(module=module, name="Finder", is_made=True, receiver="finder"),
    )
    monkeypatch.setattr(api_page, "SECTIONS", (Section(title="All", about="", entries=entries),))
    assert api_page.undescribed() == [
        "find(mode)",
        "Found(size)",
        "Found.title",
        "Finder",
        "Finder(home)",
        "Finder(*names)",
    ]
