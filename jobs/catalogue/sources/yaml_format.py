"""YAML with the numbers of version 1.2, and without repeated names in a mapping.

In version 1.1, which PyYAML reads, an unquoted ``10:20:2`` is a number to the base of 60, and ``010`` is 8.
"""

import re
from typing import Any

import yaml

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_yaml(text: str) -> object:
    """Return the content of the text. Raises ValueError with the line of the error."""
    loader = _Numbers(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _refuse_repeats(root)
        return loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{place}not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from None
    finally:
        loader.dispose()


class _Numbers(_Loader):  # type: ignore[misc]  # The C loader exists only where libyaml does.
    """PyYAML's loader of plain values, with the numbers of version 1.2."""


_NUMBERS = {
    "tag:yaml.org,2002:int": r"[-+]?(?:0|[1-9][0-9]*)$",
    "tag:yaml.org,2002:float": r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?$",
}
_Numbers.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _NUMBERS]
    for first, resolvers in _Loader.yaml_implicit_resolvers.items()
}
for _tag, _pattern in _NUMBERS.items():
    _Numbers.add_implicit_resolver(_tag, re.compile(_pattern), list("-+.0123456789"))


def _refuse_repeats(root: yaml.Node) -> None:
    """Raise ValueError for repeated names. It checks the text as written: a name merged by ``<<`` may be repeated."""
    seen: set[int] = set()
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            _refuse_repeat(node)
            nodes += [value for _, value in node.value]
        else:
            nodes += node.value


def _refuse_repeat(mapping: yaml.MappingNode) -> None:
    words: set[str] = set()
    for word, _ in mapping.value:
        if isinstance(word, yaml.ScalarNode) and word.value in words:
            line = word.start_mark.line + 1
            raise ValueError(f"line {line}: {word.value!r} is written twice in one mapping")
        words.add(str(word.value))


def write_yaml(document: object) -> str:
    """Return a document of plain values as YAML."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
