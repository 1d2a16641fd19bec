"""Size of functions: lines, branches and parameters."""

import ast
from collections.abc import Iterator

from tests.style.sources import Source

LINES_MAX = 40
BRANCHES_MAX = 12
PARAMETERS_MAX = 6

#: Functions that may exceed a limit for good, with the reason.
EXCEPTIONS = {
    "jobs/api.py:app": "public: one keyword argument for each option of a definition",
    "jobs/api.py:saga": "public: one keyword argument for each option of a definition",
    "jobs/api.py:schedule": "public: one keyword argument for each option of a schedule",
    "actors/tasks.py:Tasks.run": "public: one keyword argument for each option of a submission",
    "ops/cli/submission_options.py:submission_options": "a list of options, one call each",
    "ops/cli/commands/processes/deploy_kubernetes.py:options": "a list of options, one call each",
    "ops/simulation/plugin.py:Pipelines.__call__": "public: one keyword argument for each option of a pipeline",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines(source: Source) -> dict[str, int]:
    """Return the functions that are too long, with their lines."""
    return {
        name: count
        for name, node in functions(source)
        if (count := (node.end_lineno or node.lineno) - node.lineno + 1) > LINES_MAX
    }


def branches(source: Source) -> dict[str, int]:
    """Return the functions with too many branches, with their number."""
    return {name: count for name, node in functions(source) if (count := branches_of(node)) > BRANCHES_MAX}


def parameters(source: Source) -> dict[str, int]:
    """Return the functions with too many parameters, with their number. ``self`` does not count."""
    return {
        name: count for name, node in functions(source) if (count := parameters_of(node)) > PARAMETERS_MAX
    }


def functions(source: Source) -> Iterator[tuple[str, Function]]:
    """Yield each function of a file with its name, ``path:class.function``, except the exceptions."""
    for name, node in all_functions(source):
        if name not in EXCEPTIONS:
            yield name, node


def all_functions(source: Source) -> Iterator[tuple[str, Function]]:
    """Yield each function of a file with its name."""
    yield from _functions(source.tree, f"{source.path}:")


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def branches_of(function: Function) -> int:
    """Count decisions: statements, conditional expressions, comprehensions, their conditions, operands and cases."""
    count, open_nodes = 0, list(ast.iter_child_nodes(function))
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, Function | ast.ClassDef):
            continue
        match node:
            case (
                ast.If()
                | ast.For()
                | ast.AsyncFor()
                | ast.While()
                | ast.ExceptHandler()
                | ast.IfExp()
                | ast.match_case()
            ):
                count += 1
            case ast.comprehension():
                count += 1 + len(node.ifs)
            case ast.BoolOp():
                count += len(node.values) - 1
        open_nodes += ast.iter_child_nodes(node)
    return count


def parameters_of(function: Function) -> int:
    """Count the parameters, without ``self``."""
    given = function.args
    named = [*given.posonlyargs, *given.args]
    own = 1 if named and named[0].arg in {"self", "cls"} else 0
    return len(named) - own + len(given.kwonlyargs) + bool(given.vararg) + bool(given.kwarg)
