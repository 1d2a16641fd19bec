"""The site of the documentation: it has no broken link, its examples run, and its reference matches the code."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import msgspec
import pytest

from sluice.broker import codec
from sluice.broker.messages import MESSAGES, Message, Submit, SubmitMany
from sluice.jobs.model.submission import Submission
from sluice.ops.tools.reference.__main__ import PAGES
from sluice.ops.tools.reference.settings_page import WORDS, known
from sluice.ops.tools.site import links
from sluice.ops.tools.site.build import BrokenSite, build
from sluice.ops.tools.site.order import pages, strangers
from sluice.ops.tools.site.page import read_page
from tests.homes import started_ledger
from tests.ops.transcripts import Document, said
from tests.ops.typist import ROOT

DOCS = ROOT / "docs"
_JSON = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Seen(HTMLParser):
    """The links of a page, its anchors, and the addresses that it would fetch to be shown."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if found.get("id"):
            self.anchors.add(str(found["id"]))
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        elif found.get("src") or found.get("href"):
            self.fetched.append(str(found.get("src") or found["href"]))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("made") / "site"
    build(ROOT, folder)
    return folder


@pytest.fixture(scope="module")
def seen(site: Path) -> dict[Path, Seen]:
    return {path: Seen(path.read_text()) for path in site.rglob("*.html")}


def test_every_page_is_in_the_order_of_the_site() -> None:
    stray, missing = strangers(DOCS)
    assert not stray, "name them in ops/tools/site/order.py"
    assert not missing


def test_the_site_has_no_broken_link(seen: dict[Path, Seen]) -> None:
    broken = []
    for path, page in seen.items():
        for link in [*page.links, *page.fetched]:
            if link.startswith(("http://", "https://")):
                continue
            there, anchor = urldefrag(unquote(link))
            target = (path.parent / there).resolve() if there else path
            if not target.is_file() or (anchor and anchor not in seen[target].anchors):
                broken.append(f"{path.name}: {link}")
    assert not broken


def test_the_site_fetches_nothing_from_the_network(site: Path, seen: dict[Path, Seen]) -> None:
    assert not [link for page in seen.values() for link in page.fetched if "://" in link]
    for name in ("site.css", "find.js"):
        assert "://" not in (site / name).read_text()
        assert "@import" not in (site / name).read_text()


def test_a_page_links_to_the_next_and_to_every_other_page(site: Path) -> None:
    first, second = (name.replace(".md", ".html") for name in pages()[:2])
    text = (site / first).read_text()
    assert f'<a rel="next" href="{second}">' in text
    assert f'<a rel="prev" href="{first}">' in (site / second).read_text()
    assert all(f'href="{path.name}"' in text for path in site.glob("*.html"))
    assert 'aria-current="page"' in text


def test_headings_are_in_the_search_index(site: Path) -> None:
    text = (site / "headings.js").read_text().removeprefix("const HEADINGS = ").rstrip(";\n")
    found = {each["at"]: each["text"] for each in json.loads(text)}
    assert found["doctor.html#completion"] == "Completion"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[there](nowhere.md)", "'nowhere.md' is broken: the file does not exist"),
        ("[there](states.md#no-heading)", "docs/states.md has no heading #no-heading"),
        ("[here](#nor-this)", "docs/start.md has no heading #nor-this"),
        ("![picture](picture.svg)", "'picture.svg' is broken"),
    ],
)
def test_a_broken_link_is_a_fault(text: str, fault: str) -> None:
    faults = links.faults(ROOT, {"docs/start.md": read_page(f"# Start\n\n{text}\n")})
    assert [fault in str(each) for each in faults] == [True]


def test_a_fault_prevents_the_build_and_keeps_the_last_site(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Here\n\n[there](nowhere.md)\n")
    (tmp_path / "docs" / "stray.md").write_text("Nothing.\n")
    kept = tmp_path / "site" / "kept.html"
    kept.parent.mkdir()
    kept.write_text("the last one")
    with pytest.raises(BrokenSite) as broken:
        build(tmp_path, tmp_path / "site")
    assert "docs/index.md: the link 'nowhere.md' is broken" in broken.value.what
    assert "docs/stray.md: is in no section" in broken.value.what
    assert "docs/start.md: is in the order, but the page does not exist" in broken.value.what
    assert kept.exists(), "what was made before stays"


def test_headings_have_the_anchors_that_github_uses() -> None:
    page = read_page("# A `b`: c, d\n\n## Twice\n\n## Twice\n\n## What_is-it? (1)\n")
    assert [each.anchor for each in page.headings] == ["a-b-c-d", "twice", "twice-1", "what_is-it-1"]


def test_html_in_a_page_is_escaped() -> None:
    assert "<script>" not in read_page("# A\n\n<script>alert(1)</script>\n").html(str)


def test_one_command_builds_the_site(tmp_path: Path) -> None:
    to = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "sluice.ops.tools.site", str(to)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (to / "index.html").exists()
    assert "site:" in (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("name", PAGES)
def test_the_reference_matches_the_code(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), "python -m sluice.ops.tools.reference"


def test_every_setting_is_explained() -> None:
    assert set(WORDS) == set(known())


def test_the_messages_of_the_page_can_be_decoded() -> None:
    """They are encoded as a foreign program would send them."""
    texts = _JSON.findall((DOCS / "messages.md").read_text())
    read = [codec.unseal("planner", text.encode())[1] for text in texts]
    assert {type(each).actor for each in read} == {"submit", "submit_many", "resume", "landed"}
    for message in read:
        for raw in _submissions(message):
            assert msgspec.json.decode(raw, type=Submission).app


def _submissions(message: Message) -> tuple[msgspec.Raw, ...]:
    if isinstance(message, Submit):
        return (message.submission,)
    return message.submissions if isinstance(message, SubmitMany) else ()


def test_the_page_of_messages_has_every_field() -> None:
    cells = re.findall(r"^\| (`[^|]*`) \|", (DOCS / "messages.md").read_text(), re.MULTILINE)
    words = {word for cell in cells for word in re.findall(r"`(\w+)`", cell)}
    assert {kind.actor for kind in MESSAGES if kind.news} <= words
    # ``compensates`` is set by the ledger only.
    assert set(Submission.__struct_fields__) - {"compensates"} <= words


@pytest.mark.parametrize("name", ["start.md", "keys.md"])
def test_the_commands_of_a_page_print_the_shown_answers(tmp_path: Path, name: str) -> None:
    with started_ledger(tmp_path / ".sluice"):
        steps = list(Document((DOCS / name).read_text(), tmp_path).run())
    assert steps
    for step, told in steps:
        # Jobs that ran at once may have ended in any order.
        order = sorted if step.command.startswith("sluice ls") else list
        assert order(map(said, told)) == order(map(said, step.answer)), step.command
