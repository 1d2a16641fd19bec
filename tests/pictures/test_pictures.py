"""The command that renews the pictures works, and the documentation has each of its pictures."""

import re
from pathlib import Path
from xml.etree import ElementTree

from tests.browser import chromium
from tests.pictures import kill
from tests.pictures.__main__ import FOLDER
from tests.pictures.scene import scene_in
from tests.pictures.screens import SCREENS, THEMES, take
from tests.pictures.terminal import Line, animation

BYTES_MAX = 150_000
SCREEN_NAMES = {f"{name}-{theme}.webp" for name in SCREENS for theme in THEMES}


def test_the_pictures_of_the_screens_can_be_renewed(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    pictures.mkdir()
    with chromium() as browser, scene_in(tmp_path) as console:
        take(browser, console.address, pictures)
    assert {each.name for each in pictures.iterdir()} == SCREEN_NAMES
    for each in pictures.iterdir():
        assert each.read_bytes()[8:12] == b"WEBP", each.name
        assert 10_000 < each.stat().st_size < BYTES_MAX, each.name


def test_the_documentation_shows_each_picture() -> None:
    pages = "".join(page.read_text() for page in FOLDER.parent.glob("*.md"))
    for each in FOLDER.iterdir():
        assert f"pictures/{each.name}" in pages, each.name
        assert each.stat().st_size < BYTES_MAX, each.name
    assert {each.name for each in FOLDER.iterdir()} == SCREEN_NAMES | {"kill.svg"}


def test_the_recording_of_a_killed_worker_can_be_renewed(tmp_path: Path) -> None:
    target = tmp_path / "kill.svg"
    kill.write(tmp_path, target)
    shown = "".join(ElementTree.fromstring(target.read_text()).itertext())
    assert "kill -9 %1" in shown
    assert "succeeded: 120 succeeded in" in shown
    assert "The ledger is consistent." in shown


def test_an_animation_shows_each_line_at_its_time_with_shortened_pauses() -> None:
    lines = [Line(0.0, "cat < a  # all", is_command=True), Line(1.0, "<b>"), Line(61.0, "end")]
    drawn = animation(lines, "a & b")
    texts = ["".join(each.itertext()) for each in ElementTree.fromstring(drawn) if each.tag.endswith("text")]
    assert texts == ["$ cat < a  # all", "<b>", "end"]
    assert re.findall(r"0; } ([\d.]+%), 100%", drawn) == ["0.00%", "11.63%", "30.23%"]
    assert "#l2 { animation: l2 8.6s step-end infinite; }" in drawn
