"""What can be said of the page's files without a browser: they are short, ours, and make no markup of any text."""

import re
from pathlib import Path

import pytest

from jobs.states import STOPPABLE, TERMINAL, State
from ops.console.files import FOLDER

LINES_MAX, COLUMNS_MAX = 300, 120
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
#: Ways in which a text could become markup or a program; elements are made by ``element.js``, of texts.
_DANGERS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\beval\(|new Function"
    r"|setHTMLUnsafe|javascript:"
)
_FOREIGN = re.compile(r"(?:https?:)?//(?!www\.w3\.org/)[a-z0-9-]+\.[a-z]")
_STATIC = re.compile(r"""from "(\.[^"]+)\"""")
_IMPORT = re.compile(r"""(?:from|import\()\s*"(\.[^"]+)\"""")


def _named(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix()


@pytest.mark.parametrize("path", FILES, ids=_named)
def test_a_file_can_be_read(path: Path) -> None:
    lines = path.read_text().splitlines()
    assert len(lines) <= LINES_MAX
    assert max(map(len, lines)) <= COLUMNS_MAX
    assert not _FOREIGN.search(path.read_text())


@pytest.mark.parametrize("path", SCRIPTS, ids=_named)
def test_a_script_makes_no_markup_and_finds_its_parts(path: Path) -> None:
    text = path.read_text()
    assert text.startswith("// "), "it does not say what it is for"
    assert not _DANGERS.search(text)
    for name in _IMPORT.findall(text):
        assert (path.parent / name).is_file(), name


def test_every_script_is_needed() -> None:
    needed = {
        (path.parent / name).resolve() for path in SCRIPTS for name in _IMPORT.findall(path.read_text())
    }
    assert {path.resolve() for path in SCRIPTS} - needed == {(FOLDER / "assets/js/main.js").resolve()}


def test_the_page_knows_the_states() -> None:
    text = (FOLDER / "assets/js/states.js").read_text()
    shapes = text[text.index("const SHAPES = {") : text.index("};")]
    assert re.findall(r"^    (\w+): \{", shapes, re.MULTILINE) == [str(state) for state in State]
    assert _set(text, "LIVE") == set(State) - TERMINAL
    assert _set(text, "STOPPABLE") == STOPPABLE
    colours = (FOLDER / "assets/css/tokens.css").read_text()
    assert {state for state in State if f".is-{state}" not in colours} == set()


def test_the_document_has_neither_scripts_nor_styles_of_its_own() -> None:
    text = (FOLDER / "index.html").read_text()
    assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]* src=)", text)
    for name in re.findall(r'(?:href|src)="([^"]+)"', text):
        assert (FOLDER / name.lstrip("/")).is_file(), name


def test_what_every_screen_needs_is_asked_for_at_once() -> None:
    """Or each script is asked for when the one that needs it has come."""
    text = (FOLDER / "index.html").read_text()
    preloaded = re.findall(r'rel="modulepreload" href="/([^"]+)"', text)
    assert {FOLDER / name for name in preloaded} == _needed_by(FOLDER / "assets/js/main.js")


def _needed_by(path: Path) -> set[Path]:
    needed: set[Path] = set()
    open_ = [path]
    while open_:
        script = open_.pop()
        parts = {(script.parent / name).resolve() for name in _STATIC.findall(script.read_text())}
        open_ += parts - needed
        needed |= parts
    return needed


def _set(text: str, name: str) -> set[str]:
    found = re.search(rf"const {name} = new Set\(\[([^\]]*)\]\)", text)
    assert found is not None
    return set(re.findall(r'"(\w+)"', found[1]))
