"""Targets of the links of a page: another page, a file of the project that is shown beside the pages, or an external
address.

Pages and files are named by their paths from the root of the project.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from msgspec import Struct

from sluice.ops.tools.site.page import Page, read_page

#: Folder of the site for files that are not pages.
SOURCES = "source"
_OUT = ("http://", "https://", "mailto:")


class LinkFault(Struct, frozen=True, order=True):
    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


class Target(Struct, frozen=True):
    """File, and a heading in it if the link names a heading."""

    path: str
    anchor: str


def target(path: str, link: str) -> Target | None:
    """Return the target of a link of this page. None if it is external."""
    if link.startswith(_OUT):
        return None
    there, _, anchor = link.partition("#")
    return Target(normpath(f"{PurePosixPath(path).parent}/{there}") if there else path, anchor)


def place(path: str) -> str:
    """Return the path of a file in the site, from its top."""
    inner = PurePosixPath(path)
    if inner.parent == PurePosixPath("docs") and inner.suffix == ".md":
        return f"{inner.stem}.html"
    return f"{SOURCES}/{path}.html"


def way(path: str, link: str) -> str:
    """Return the link as it is written on this page of the site."""
    found = target(path, link)
    if found is None:
        return link
    there = relpath(place(found.path), str(PurePosixPath(place(path)).parent))
    return f"{there}#{found.anchor}" if found.anchor else there


def faults(root: Path, pages: Mapping[str, Page]) -> Iterator[LinkFault]:
    """Yield every link that leads nowhere."""
    for path, page in pages.items():
        for link in page.links:
            found = target(path, link)
            if found is not None and (what := _missing(root, pages, found)):
                yield LinkFault(path, f"the link {link!r} is broken: {what}")


def beside(root: Path, pages: Mapping[str, Page]) -> dict[str, Page | None]:
    """Return the files outside the pages to which links lead, from pages or from such files. A Markdown file comes
    with its page, any other file with None.
    """
    found: dict[str, Page | None] = {}
    left = [*pages.items()]
    while left:
        path, page = left.pop()
        for link in page.links:
            there = target(path, link)
            if (
                there is None
                or there.path in pages
                or there.path in found
                or not (root / there.path).exists()
            ):
                continue
            is_page = there.path.endswith(".md")
            found[there.path] = read_page((root / there.path).read_text()) if is_page else None
            left += [(there.path, read)] if (read := found[there.path]) else []
    return dict(sorted(found.items()))


def _missing(root: Path, pages: Mapping[str, Page], found: Target) -> str:
    path = root / found.path
    if not path.exists():
        return "the file does not exist"
    if found.anchor and path.suffix == ".md":
        page = pages.get(found.path) or read_page(path.read_text())
        if found.anchor not in page.anchors:
            return f"{found.path} has no heading #{found.anchor}"
    return ""
