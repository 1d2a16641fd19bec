"""Checks of the console's page files that need no browser: size, origin, and no markup made of texts."""

import re
from pathlib import Path

from sluice.jobs.states import STOPPABLE, TERMINAL, State
from sluice.ops.console import files

LINES_MAX, COLUMNS_MAX = 300, 120
FOLDER = files.FOLDER.resolve()
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
SCRIPTS = [path for path in FILES if path.suffix == ".js"]
#: Ways in which a text could become markup or code. Elements are made by ``element.js``, from texts.
_DANGERS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|\beval\(|new Function"
    r"|setHTMLUnsafe|javascript:"
)
_FOREIGN = re.compile(r"(?:https?:)?//(?!www\.w3\.org/)[a-z0-9-]+\.[a-z]")
_STATIC = re.compile(r"""from "(\.[^"]+)\"""")
_IMPORT = re.compile(r"""(?:from|import\()\s*"(\.[^"]+)\"""")


def test_every_file_is_readable_and_loads_nothing_from_another_host() -> None:
    assert FILES
    offences = [offence for path in FILES for offence in _unreadable(path)]
    assert not offences, "\n".join(["", *offences])


def test_every_script_states_its_purpose_makes_no_markup_and_finds_its_imports() -> None:
    assert SCRIPTS
    offences = [offence for path in SCRIPTS for offence in _unsafe(path)]
    assert not offences, "\n".join(["", *offences])


def test_a_bad_file_is_reported_with_each_of_its_offences(tmp_path: Path) -> None:
    """Show that the two checks above can fail."""
    long, empty, binary, script = (
        tmp_path / name for name in ("long.css", "empty.css", "binary.js", "bad.js")
    )
    long.write_text("x" * 121 + "\n" * 300 + "url(//cdn.example.org/x.css)")
    empty.touch()
    binary.write_bytes(b"\xff")
    script.write_text('import { x } from "./gone.js";\nx.innerHTML = eval("1");\n')
    assert [offence for path in (long, empty, binary) for offence in _unreadable(path)] == [
        "long.css: 301 lines, over 300",
        "long.css:1: 121 columns, over 120",
        "long.css: address of another host: //cdn.e",
        "empty.css: empty",
        "binary.js: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    ]
    assert _unsafe(script) == [
        "bad.js: no comment at its top states its purpose",
        "bad.js: makes markup or code of a text: innerHTML",
        "bad.js: makes markup or code of a text: eval(",
        "bad.js: imports ./gone.js, which does not exist",
    ]


def test_every_script_is_needed() -> None:
    needed = {
        (path.parent / name).resolve() for path in SCRIPTS for name in _IMPORT.findall(path.read_text())
    }
    assert {path.resolve() for path in SCRIPTS} - needed == {(FOLDER / "assets/js/main.js").resolve()}


def test_the_page_knows_all_states() -> None:
    text = (FOLDER / "assets/js/states.js").read_text()
    shapes = text[text.index("const SHAPES = {") : text.index("};")]
    assert re.findall(r"^    (\w+): \{", shapes, re.MULTILINE) == [str(state) for state in State]
    assert _set(text, "LIVE") == set(State) - TERMINAL
    assert _set(text, "STOPPABLE") == STOPPABLE
    colours = (FOLDER / "assets/css/tokens.css").read_text()
    assert {state for state in State if f".is-{state}" not in colours} == set()


def test_the_document_contains_no_inline_scripts_or_styles() -> None:
    text = (FOLDER / "index.html").read_text()
    assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]* src=)", text)
    for name in re.findall(r'(?:href|src)="([^"]+)"', text):
        assert (FOLDER / name.lstrip("/")).is_file(), name


def test_all_static_imports_of_the_page_are_preloaded() -> None:
    """Without preloading, each script would be requested only after the script that imports it has arrived."""
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


def _unreadable(path: Path) -> list[str]:
    """Return the properties that make a file hard to read, and addresses of other hosts."""
    try:
        text = path.read_text()
    except UnicodeDecodeError as error:
        return [f"{_named(path)}: {error}"]
    lines = text.splitlines()
    offences = [] if lines else [f"{_named(path)}: empty"]
    if len(lines) > LINES_MAX:
        offences.append(f"{_named(path)}: {len(lines)} lines, over {LINES_MAX}")
    for number, line in enumerate(lines, start=1):
        if len(line) > COLUMNS_MAX:
            offences.append(f"{_named(path)}:{number}: {len(line)} columns, over {COLUMNS_MAX}")
    return offences + [
        f"{_named(path)}: address of another host: {found}" for found in _FOREIGN.findall(text)
    ]


def _unsafe(path: Path) -> list[str]:
    """Return the faults of a script: no stated purpose, markup made of texts, or an import of a missing file."""
    text = path.read_text(errors="replace")
    offences = [] if text.startswith("// ") else [f"{_named(path)}: no comment at its top states its purpose"]
    offences += [
        f"{_named(path)}: makes markup or code of a text: {found}" for found in _DANGERS.findall(text)
    ]
    return offences + [
        f"{_named(path)}: imports {name}, which does not exist"
        for name in _IMPORT.findall(text)
        if not (path.parent / name).is_file()
    ]


def _named(path: Path) -> str:
    return path.relative_to(FOLDER).as_posix() if path.is_relative_to(FOLDER) else path.name
