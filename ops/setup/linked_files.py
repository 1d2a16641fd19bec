"""Hook of mkdocs that adds the files outside ``docs`` to which pages link: sources, examples, the README; and pictures.

All pages are named by their paths in the repository, so that a link leads to the same file here and on GitHub.
"""

import re
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel

ROOT: Final = Path(__file__).resolve().parents[2]
_POLYFILL: Final = "ops/setup/iframe-worker.js"
#: Links and pictures in Markdown, and pictures in HTML, which can have another file for the dark theme.
_LINK = re.compile(r"""(?:\]\(|\bsrc="|\bsrcset=")([^)"#:\s]+)""")
_CODE = re.compile(r"`[^`\n]+`")
_PICTURES: Final = (".png", ".svg", ".webp")
_LANGUAGES: Final = {".mjs": "js", ".yml": "yaml", "": "text"}


class LinkedFile(File):  # type: ignore[misc] # mypy does not read mkdocs, which is not always installed
    """Page that shows a file of the repository, or the files of a folder. Search does not find it."""

    def is_documentation_page(self) -> bool:
        return True

    @property
    def content_string(self) -> str:
        path = ROOT / self.src_uri
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        shown = [_code(file) for file in files if file.is_file() and file.suffix != ".pyc"]
        return "\n".join(["---\nsearch: { exclude: true }\n---", f"# {self.src_uri}", *shown])


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the files of the theme, the pages of ``docs``, and every file to which these link."""
    left = [f"docs/{page.src_uri}" for page in files.documentation_pages()]
    found = Files([file for file in files if file.src_dir != config.docs_dir])
    found.append(File(_POLYFILL, str(ROOT), config.site_dir, use_directory_urls=False))
    while left:
        path = left.pop()
        if (ROOT / path).exists() and found.get_file_from_path(path) is None:
            found.append(_page(path, config.site_dir))
            text = (ROOT / path).read_text() if path.endswith(".md") else ""
            left += [normpath(join(dirname(path), link)) for link in _LINK.findall(text)]
    return found


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return a page with ``|`` unescaped in inline code. GitHub needs the escape in tables; mkdocs would show it."""
    return _CODE.sub(lambda code: code[0].replace(r"\|", "|"), markdown)


def _page(path: str, site: str) -> File:
    kind = File if path.endswith((".md", *_PICTURES)) else LinkedFile
    in_order = path.startswith("docs/") and kind is File
    to = path.removeprefix("docs/") if in_order else f"source/{path}"
    if path.endswith(_PICTURES):
        return File(path, str(ROOT), site, use_directory_urls=False, dest_uri=to)
    return kind(
        path,
        str(ROOT),
        site,
        use_directory_urls=False,
        dest_uri=f"{to.removesuffix('.md')}.html",
        inclusion=InclusionLevel.INCLUDED if in_order else InclusionLevel.NOT_IN_NAV,
    )


def _code(file: Path) -> str:
    language = _LANGUAGES.get(file.suffix, file.suffix[1:])
    return f"## {file.relative_to(ROOT)}\n\n~~~~~~ {language}\n{file.read_text()}\n~~~~~~\n"
