"""Signatures and descriptions of public names, read from the source code.

The source is read instead of the objects because it has the types as they are written: ``AppRef`` and not the union
that this name stands for. A description is the docstring. For a field, an attribute or an alias it is the ``#:``
comment above it.
"""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module

from msgspec import Struct

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class ApiParameter(Struct, frozen=True, kw_only=True):
    """ApiParameter of a function, field of a struct, or attribute of a class. ``name`` has the stars, if any."""

    name: str
    type: str = ""
    default: str = ""
    about: str = ""

    def __str__(self) -> str:
        typed = f"{self.name}: {self.type}" if self.type else self.name
        if not self.default:
            return typed
        return f"{typed} = {self.default}" if self.type else f"{typed}={self.default}"


class Call(Struct, frozen=True, kw_only=True):
    """One signature of a function. ``returns`` is empty for a class, and ``parameters`` may contain ``*`` and ``/``."""

    parameters: Sequence[ApiParameter]
    returns: str = ""
    is_coroutine: bool = False

    def text(self, name: str) -> str:
        """Return the signature in one line."""
        before = "await " if self.is_coroutine else ""
        after = f" -> {self.returns}" if self.returns else ""
        return f"{before}{name}({', '.join(map(str, self.parameters))}){after}"


class Routine(Struct, frozen=True, kw_only=True):
    """Function or method: its signatures, more than one if it is overloaded, and its docstring."""

    name: str
    calls: Sequence[Call]
    about: str


class Shape(Struct, frozen=True, kw_only=True):
    """Class: its constructor, the attributes of its instances, and its methods. Names with an underscore are left out.

    ``fields`` are the fields of a struct, which are parameters of its constructor and attributes.
    """

    name: str
    about: str
    constructor: Call
    fields: Sequence[ApiParameter]
    attributes: Sequence[ApiParameter]
    methods: Sequence[Routine]


def routine(module: str, name: str) -> Routine:
    """Return a function of a module."""
    source = _source(module)
    return _routines(source, source.tree.body)[name]


def shape(module: str, name: str) -> Shape:
    """Return a class of a module."""
    source = _source(module)
    node = next(each for each in source.tree.body if isinstance(each, ast.ClassDef) and each.name == name)
    inside = _routines(source, node.body)
    annotated = _fields(source, node)
    fields = annotated if _is_based_on(node, "Struct") else []
    attributes = [*_set_at_start(source, node), *_properties(source, node)]
    if not fields:
        attributes = [*annotated, *attributes]
    hidden = {attribute.name for attribute in attributes}
    return Shape(
        name=name,
        about=_docstring(node),
        constructor=inside["__init__"].calls[-1] if "__init__" in inside else _of_struct(node, fields),
        fields=fields,
        attributes=attributes,
        methods=[it for it in inside.values() if not it.name.startswith("_") and it.name not in hidden],
    )


def alias(module: str, name: str) -> ApiParameter:
    """Return a type alias of a module, with the type that it stands for."""
    source = _source(module)
    for node in source.tree.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=found), value=ast.expr() as value) if found == name:
                return ApiParameter(name=name, type=source.segment(value), about=source.comment(node))
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return ApiParameter(name=name, type=source.segment(value), about=source.comment(node))
    raise LookupError(f"{module} has no alias {name}")


class _Source:
    """Text and syntax tree of one module."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self._text = text
        self._lines = text.splitlines()

    def segment(self, node: ast.expr | None) -> str:
        """Return the text of an expression in one line, without the quotes of a type that is written as a text."""
        if node is None:
            return ""
        text = ast.get_source_segment(self._text, node) or ast.unparse(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return text
        return re.sub(r"(?<=[\[(]) | (?=[\])])|,(?= ?[\])])", "", " ".join(text.split()))

    def type(self, node: ast.expr | None) -> str:
        """Return the text of a type, without the modules of its names."""
        text = self.segment(node)
        text = text.strip('"') if isinstance(node, ast.Constant) else text
        return re.sub(r"\b[a-z_]+\.(?=[A-Z])", "", text)

    def comment(self, node: ast.stmt) -> str:
        """Return the text of the ``#:`` comment above a statement."""
        found: list[str] = []
        for line in reversed(self._lines[: node.lineno - 1]):
            if not (marked := re.fullmatch(r"\s*#: ?(.*)", line)):
                break
            found.append(marked[1])
        return "\n".join(reversed(found))


@lru_cache
def _source(module: str) -> _Source:
    return _Source(inspect.getsource(import_module(module)))


def _routines(source: _Source, body: Iterable[ast.stmt]) -> dict[str, Routine]:
    """Return the functions by name. Those with overloads have these as signatures."""
    nodes: dict[str, list[FunctionNode]] = {}
    for node in body:
        if isinstance(node, FunctionNode):
            nodes.setdefault(node.name, []).append(node)
    return {
        name: Routine(
            name=name,
            calls=[_call(source, node) for node in (same if len(same) == 1 else same[:-1])],
            about=_docstring(same[-1]),
        )
        for name, same in nodes.items()
    }


def _call(source: _Source, node: FunctionNode) -> Call:
    return Call(
        parameters=[each for each in _parameters(source, node.args) if each.name not in {"self", "cls"}],
        returns=source.type(node.returns),
        is_coroutine=isinstance(node, ast.AsyncFunctionDef),
    )


def _parameters(source: _Source, args: ast.arguments) -> Iterator[ApiParameter]:
    plain = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(plain) - len(args.defaults)) + [*args.defaults]
    for place, (arg, default) in enumerate(zip(plain, defaults, strict=True), start=1):
        yield _parameter(source, arg, default)
        if place == len(args.posonlyargs) and plain[0].arg != "self":
            yield ApiParameter(name="/")
    if args.vararg:
        yield _parameter(source, args.vararg, None, stars="*")
    elif args.kwonlyargs:
        yield ApiParameter(name="*")
    for arg, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield _parameter(source, arg, default)
    if args.kwarg:
        yield _parameter(source, args.kwarg, None, stars="**")


def _parameter(source: _Source, arg: ast.arg, default: ast.expr | None, stars: str = "") -> ApiParameter:
    return ApiParameter(
        name=f"{stars}{arg.arg}", type=source.type(arg.annotation), default=source.segment(default)
    )


def _fields(source: _Source, node: ast.ClassDef) -> list[ApiParameter]:
    return [
        ApiParameter(
            name=each.target.id,
            type=source.type(each.annotation),
            default=source.segment(each.value),
            about=source.comment(each),
        )
        for each in node.body
        if isinstance(each, ast.AnnAssign)
        and isinstance(each.target, ast.Name)
        and not each.target.id.startswith("_")
        and not source.segment(each.annotation).startswith("ClassVar")
    ]


def _of_struct(node: ast.ClassDef, fields: Sequence[ApiParameter]) -> Call:
    """Return the constructor of a struct. That of a class without fields has no parameters."""
    keywords_only = any(
        keyword.arg == "kw_only" and isinstance(keyword.value, ast.Constant) and keyword.value.value
        for keyword in node.keywords
    )
    return Call(parameters=[*([ApiParameter(name="*")] if keywords_only else []), *fields])


def _set_at_start(source: _Source, node: ast.ClassDef) -> Iterator[ApiParameter]:
    """Yield the attributes that ``__init__`` sets."""
    start = next(
        (each for each in node.body if isinstance(each, ast.FunctionDef) and each.name == "__init__"), None
    )
    if start is None:
        return
    types = {arg.arg: source.type(arg.annotation) for arg in [*start.args.args, *start.args.kwonlyargs]}
    for each in start.body:
        match each:
            case ast.Assign(targets=[ast.Attribute(ast.Name("self"), name)], value=value):
                of = types.get(value.id, "") if isinstance(value, ast.Name) else ""
            case ast.AnnAssign(target=ast.Attribute(ast.Name("self"), name), annotation=annotation):
                of = source.type(annotation)
            case _:
                continue
        if not name.startswith("_"):
            yield ApiParameter(name=name, type=of, about=source.comment(each))


def _properties(source: _Source, node: ast.ClassDef) -> Iterator[ApiParameter]:
    for each in node.body:
        if not isinstance(each, ast.FunctionDef) or each.name.startswith("_"):
            continue
        decorators = {source.segment(decorator) for decorator in each.decorator_list}
        if decorators & {"property", "cached_property"}:
            yield ApiParameter(name=each.name, type=source.type(each.returns), about=_docstring(each))


def _is_based_on(node: ast.ClassDef, name: str) -> bool:
    """Return whether a class has this base."""
    return any(isinstance(base, ast.Name) and base.id == name for base in node.bases)


def _docstring(node: ast.ClassDef | FunctionNode) -> str:
    return ast.get_docstring(node) or ""
