"""Builder of the site: all of it, or nothing if there is a fault."""

import shutil
from collections.abc import Mapping
from functools import partial
from html import escape
from pathlib import Path

import msgspec

from sluice.jobs.errors import SluiceError
from sluice.ops.tools.site.frame import framed
from sluice.ops.tools.site.links import LinkFault, beside, faults, place, way
from sluice.ops.tools.site.order import pages as ordered
from sluice.ops.tools.site.order import strangers
from sluice.ops.tools.site.page import Page, coloured, read_page, styles

_PLACE = Path(__file__).parent
#: Suffixes of files that can be shown as text.
_SUFFIXES = frozenset({".py", ".md", ".sh", ".mjs", ".yml", ".yaml", ".json", ".toml", ".txt", ""})


class BrokenSite(SluiceError):
    """Raised when the pages have faults. No site is made."""

    exit_code = 1


def build(root: Path, to: Path) -> list[str]:
    """Make the site of ``root/docs`` in the folder ``to``. Return the paths of its pages. Raise Broken with every
    fault.
    """
    paths = [f"docs/{name}" for name in ordered()]
    pages = {path: read_page((root / path).read_text()) for path in paths if (root / path).exists()}
    others = beside(root, pages)
    if found := sorted(_faults(root, pages, others)):
        raise BrokenSite(
            f"The pages have {len(found)} faults:\n" + "\n".join(f"  {each}" for each in found),
            advice="Fix them; no site is built until then.",
        )
    if to.exists():
        shutil.rmtree(to)
    placed = {place(path): page for path, page in pages.items()}
    written = {place(path): _framed(path, page, placed) for path, page in pages.items()}
    for path, other in others.items():
        written[place(path)] = _framed(path, other, placed) if other else _shown(root, path, placed)
    for at, text in {**written, **_parts(placed)}.items():
        (to / at).parent.mkdir(parents=True, exist_ok=True)
        (to / at).write_text(text)
    return [*placed]


def _faults(root: Path, pages: Mapping[str, Page], others: Mapping[str, Page | None]) -> list[LinkFault]:
    stray, missing = strangers(root / "docs")
    return [
        *faults(root, {**pages, **{path: page for path, page in others.items() if page}}),
        *(LinkFault(f"docs/{name}", "is in no section of ops/tools/site/order.py") for name in stray),
        *(LinkFault(f"docs/{name}", "is in the order, but the page does not exist") for name in missing),
        *(
            LinkFault(path, "has no heading of the first level")
            for path, page in pages.items()
            if not page.title
        ),
    ]


def _framed(path: str, page: Page, placed: Mapping[str, Page]) -> str:
    return framed(place(path), page.title, page.html(partial(way, path)), placed, headings=page.headings)


def _shown(root: Path, path: str, placed: Mapping[str, Page]) -> str:
    """Return a page that shows a file, or the files of a folder."""
    files = sorted((root / path).rglob("*")) if (root / path).is_dir() else [root / path]
    body = "\n".join(_code(root, file) for file in files if file.is_file() and file.suffix in _SUFFIXES)
    return framed(place(path), path, f"<h1>{escape(path)}</h1>\n{body}", placed)


def _code(root: Path, file: Path) -> str:
    language = {".py": "python", ".mjs": "javascript", ".yml": "yaml"}.get(file.suffix, file.suffix[1:])
    name = escape(file.relative_to(root).as_posix())
    return f'<h2>{name}</h2><pre class="code"><code>{coloured(file.read_text(), language)}</code></pre>'


def _parts(placed: Mapping[str, Page]) -> dict[str, str]:
    index = [
        {"at": f"{at}#{heading.anchor}", "page": page.title, "text": heading.text}
        for at, page in placed.items()
        for heading in page.headings
    ]
    return {
        "site.css": (_PLACE / "site.css").read_text() + styles(),
        "find.js": (_PLACE / "find.js").read_text(),
        "headings.js": f"const HEADINGS = {msgspec.json.encode(index).decode()};\n",
    }
