"""The site of the documentation: it has no broken link, its examples run, and its reference matches the code."""

import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import msgspec
import pytest

from sluice.broker import codec
from sluice.broker.messages import MESSAGES, Message, Submit, SubmitMany
from sluice.jobs.catalogue.fields.submitter_options import OPEN
from sluice.jobs.model.submission import Submission
from sluice.ops.tools.reference.__main__ import PAGES
from sluice.ops.tools.reference.settings_page import WORDS, known
from tests.browser import chromium
from tests.homes import started_ledger
from tests.ops.transcripts import Document
from tests.ops.typist import ROOT

DOCS = ROOT / "docs"
SETUP = ROOT / "ops" / "setup"
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
        else:
            self.fetched += [str(found[name]) for name in ("src", "srcset", "href") if found.get(name)]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, made as ``make site`` makes it. A broken link would fail the build."""
    folder: Path = tmp_path_factory.mktemp("made") / "site"
    made = _build(SETUP / "mkdocs.yml", folder)
    assert made.returncode == 0, made.stderr
    return folder


def _build(config: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    recipe = re.search(r"\$\(bin\)/(mkdocs .*) --config-file (\S+)", (ROOT / "Makefile").read_text())
    assert recipe is not None
    assert ROOT / recipe[2] == SETUP / "mkdocs.yml"
    program = [sys.executable, "-m", *recipe[1].split()]
    return subprocess.run(
        [*program, "--config-file", str(config), "--site-dir", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )


@pytest.fixture(scope="module")
def seen(site: Path) -> dict[Path, Seen]:
    """Return the pages by path, without the page of a server about missing pages."""
    return {path: Seen(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}


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
    assert not [
        path for path in site.rglob("*.css") if re.search(r"@import|url\(.?https?:", path.read_text())
    ]


def test_search_works_in_a_site_that_is_opened_as_files(site: Path) -> None:
    with chromium() as browser:
        page = browser.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.get_by_role("textbox", name="Search").press_sequentially("completion")
        page.locator("a[href$='install.html#shell-completion']").wait_for()
    assert not [url for url in requests if not url.startswith("file:")]


def test_linked_files_and_folders_are_shown(site: Path) -> None:
    shown = (site / "source/jobs/examples/stau.html").read_text()
    assert "jobs/examples/stau/hello.py" in shown
    assert "jobs/examples/stau/goodbye.py" in shown
    assert "select_work" in shown


def test_alternatives_in_tables_are_shown_without_backslashes(site: Path) -> None:
    assert "<code>--rerun job|downstream</code>" in (site / "cli.html").read_text()


def test_every_fault_of_the_pages_fails_the_build(tmp_path: Path) -> None:
    setup = tmp_path / "ops" / "setup"
    shutil.copytree(SETUP, setup)
    pages = (setup / "mkdocs.yml").read_text().partition("\nnav:")[0]
    (setup / "mkdocs.yml").write_text(f"{pages}\nnav: [docs/index.md, docs/start.md]\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/stray.md").write_text("# Stray\n")
    (tmp_path / "docs/index.md").write_text(
        "# Here\n\n[a](nowhere.md) [b](stray.md#none) [c](#neither) [d](../folder) ![e](picture.svg)\n"
    )
    made = _build(setup / "mkdocs.yml", tmp_path / "site")
    assert made.returncode != 0
    for fault in (
        "'docs/start.md' is included in the 'nav' configuration, which is not found",
        'not included in the "nav" configuration:\n  - docs/stray.md',
        "link 'nowhere.md'",
        "link 'stray.md#none'",
        "link '#neither'",
        "link '../folder'",
        "link 'picture.svg'",
    ):
        assert fault in made.stderr


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


def _first_cells(page: str) -> set[str]:
    """Return the names in the first columns of the tables of a page."""
    cells = re.findall(r"^\| (`[^|]*`) \|", (DOCS / page).read_text(), re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def test_the_pages_have_every_message_and_every_field_of_a_submission() -> None:
    assert {kind.actor for kind in MESSAGES if kind.news} <= _first_cells("messages.md")
    # ``compensates`` is set by the ledger only.
    assert set(Submission.__struct_fields__) - {"compensates"} <= _first_cells("submissions.md")


def test_the_page_has_every_option_that_a_submission_may_set() -> None:
    text = (DOCS / "submissions.md").read_text()
    listed = re.search(
        r"^Each submission may set these options: (.*?)\. They", text, re.MULTILINE | re.DOTALL
    )
    assert listed
    assert set(re.findall(r"`(\w+)`", listed[1])) == OPEN


@pytest.mark.parametrize("name", ["index.md", "start.md", "keys.md", "mixed-keys.md"])
def test_the_commands_of_a_page_print_the_shown_answers(tmp_path: Path, name: str) -> None:
    with started_ledger(tmp_path / ".sluice"):
        steps = Document((DOCS / name).read_text(), tmp_path).check(unordered="sluice ls")
    assert steps
