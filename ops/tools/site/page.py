"""Page of the site: Markdown as HTML, with an anchor for each heading, and its links."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec import Struct
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

#: Lexers of code blocks. A console session is shown with its output, and a diagram as its text.
_LEXERS = {"console": "console", "sh": "bash", "mermaid": "text"}
_DROPPED = re.compile(r"[^\w\- ]")


class Heading(Struct, frozen=True):
    level: int
    text: str
    anchor: str


class Page(Struct, frozen=True):
    """Page of the site. ``links`` are as they are written; ``html`` converts them with its ``way``."""

    text: str
    headings: tuple[Heading, ...]
    links: tuple[str, ...]

    @property
    def title(self) -> str:
        return next((each.text for each in self.headings if each.level == 1), "")

    @property
    def anchors(self) -> frozenset[str]:
        return frozenset(each.anchor for each in self.headings)

    def html(self, way: Callable[[str], str]) -> str:
        """Return the page as HTML. ``way`` returns the target of a link, from this page."""
        markdown = _markdown()
        tokens = markdown.parse(self.text)
        anchors = iter(self.headings)
        for token in _all(tokens):
            if token.type == "heading_open":
                token.attrSet("id", next(anchors).anchor)
            for attribute in ("href", "src"):
                if link := token.attrGet(attribute):
                    token.attrSet(attribute, way(str(link)))
        return str(markdown.renderer.render(tokens, markdown.options, {}))


def read_page(text: str) -> Page:
    tokens = _markdown().parse(text)
    seen: Counter[str] = Counter()
    headings = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            words = "".join(child.content for child in inline.children or ())
            headings.append(Heading(int(opening.tag[1:]), words, _anchor(words, seen)))
    links = [
        str(link) for token in _all(tokens) for link in (token.attrGet("href"), token.attrGet("src")) if link
    ]
    return Page(text, tuple(headings), tuple(links))


def styles() -> str:
    """Return the colours of code, in light and in dark mode."""
    light = HtmlFormatter(style="friendly").get_style_defs(".code")
    dark = HtmlFormatter(style="github-dark").get_style_defs(".code")
    # The output of a command must be as readable as the command.
    answers = ".code .go { color: inherit; }"
    return f"{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n{answers}\n"


def coloured(code: str, language: str) -> str:
    try:
        lexer = get_lexer_by_name(_LEXERS.get(language, language) or "text")
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True)))


def _markdown() -> MarkdownIt:
    """Return a converter. It escapes HTML in a page."""

    def block(code: str, language: str, _: str) -> str:
        return f'<pre class="code"><code>{coloured(code, language)}</code></pre>'

    return MarkdownIt("commonmark", {"html": False, "highlight": block}).enable("table")


def _all(tokens: list[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or [])


def _anchor(words: str, seen: Counter[str]) -> str:
    """Return the anchor that GitHub would use, because the same pages are read there. A repeated heading has
    a number.
    """
    anchor = _DROPPED.sub("", words.strip().lower()).replace(" ", "-")
    seen[anchor] += 1
    return anchor if seen[anchor] == 1 else f"{anchor}-{seen[anchor] - 1}"
