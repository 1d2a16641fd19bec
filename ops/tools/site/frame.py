"""Frame of a page: its place in the order, links to the previous and the next page, and its headings."""

from collections.abc import Mapping, Sequence
from html import escape
from posixpath import relpath

from sluice.ops.tools.site.order import SECTIONS
from sluice.ops.tools.site.page import Heading, Page

_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="stylesheet" href="{top}site.css">
</head>
<body>
<a class="skip" href="#content">Skip to the text</a>
<header><a class="home" href="{top}index.html">Sluice</a>
<input id="find" type="search" placeholder="Find a heading" aria-label="Find a heading" autocomplete="off">
<ol id="found" hidden></ol></header>
<div class="sheet">
<nav class="order" aria-label="All pages"><details open><summary>Pages</summary>
{order}
</details></nav>
<main id="content">
{body}
<footer>{around}</footer>
</main>
<nav class="inner" aria-label="On this page">{inner}</nav>
</div>
<script src="{top}headings.js"></script>
<script src="{top}find.js" data-top="{top}"></script>
</body>
</html>
"""


def framed(
    at: str,
    title: str,
    body: str,
    pages: Mapping[str, Page],
    *,
    headings: Sequence[Heading] = (),
) -> str:
    """Return a page in its frame. ``at`` is its path from the top of the site. ``pages`` are by such paths too, in
    their order.
    """
    top = relpath(".", at.rpartition("/")[0] or ".") + "/"
    return _FRAME.format(
        title=escape(f"{title} · Sluice" if title != "Sluice" else title),
        top="" if top == "./" else top,
        order=_order(at, pages, "" if top == "./" else top),
        body=body,
        around=_around(at, pages),
        inner=_inner(headings),
    )


def _order(at: str, pages: Mapping[str, Page], top: str) -> str:
    parts = []
    for section in SECTIONS:
        rows = [
            f'<li><a href="{top}{place}"{_here(place == at)}>{escape(pages[place].title)}</a></li>'
            for place in (name.replace(".md", ".html") for name in section.pages)
            if place in pages
        ]
        parts.append(f"<h2>{escape(section.title)}</h2>\n<ol>\n" + "\n".join(rows) + "\n</ol>")
    return "\n".join(parts)


def _here(is_here: bool) -> str:  # noqa: FBT001 - an attribute is there or it is not
    return ' aria-current="page"' if is_here else ""


def _around(at: str, pages: Mapping[str, Page]) -> str:
    if at not in pages:
        return ""
    places = [*pages]
    index = places.index(at)
    before = places[index - 1] if index else None
    after = places[index + 1] if index + 1 < len(places) else None
    links = [
        f'<a rel="{rel}" href="{place}">{escape(pages[place].title)}</a>'
        for rel, place in (("prev", before), ("next", after))
        if place
    ]
    return "\n".join(links)


def _inner(headings: Sequence[Heading]) -> str:
    rows = [
        f'<li class="level{each.level}"><a href="#{each.anchor}">{escape(each.text)}</a></li>'
        for each in headings
        if each.level in (2, 3)
    ]
    return "<h2>On this page</h2>\n<ol>\n" + "\n".join(rows) + "\n</ol>" if rows else ""
