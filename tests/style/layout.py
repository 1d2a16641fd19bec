"""Modules: how many are in a folder, and how they and their classes are named."""

import ast
import re
from collections import Counter

from tests.style.sources import Source

MODULES_MAX = 18
_GERUND = re.compile(r"(?:\A|_)[a-z]{2,}ing(?:_|\Z)")
#: Nouns that end like a gerund.
_NOUNS = re.compile(
    r"(?:\A|_)(?:setting|string|thing|ring|king|wing|spring|sibling|ceiling|timing|logging|signing|paging|tracing|failing"
    r"|meeting|building|encoding|warning|listing|finding)s?(?:_|\Z)"
)


def folder(source: Source) -> dict[str, int]:
    """Count a module for its folder."""
    return {} if source.is_package else {source.path.rpartition("/")[0]: 1}


def activity(source: Source) -> dict[str, int]:
    """Count a module that is named after an activity."""
    stem = source.path.rpartition("/")[2].removesuffix(".py")
    return {source.path: 1} if _GERUND.search(stem) and not _NOUNS.search(stem) else {}


def class_names(source: Source) -> Counter[str]:
    """Count the public classes of a file by name."""
    return Counter(
        node.name
        for node in ast.iter_child_nodes(source.tree)
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
