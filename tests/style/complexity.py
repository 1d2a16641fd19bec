"""Size of functions: lines, branches and parameters."""

import ast
from collections.abc import Iterator

from tests.style.sources import Source

LINES_MAX = 40
BRANCHES_MAX = 12
PARAMETERS_MAX = 6

_PUBLIC = "public: one keyword argument for each option that users may write"
_COLLABORATORS = "constructor that gets its collaborators once"
#: Functions that may exceed a limit, by measure: their value, which may not grow, and the reason.
EXCEPTIONS: dict[str, dict[str, tuple[int, str]]] = {
    "lines": {
        "actors/tasks.py:Tasks.run": (44, _PUBLIC),
        "ops/simulation/plugin.py:Pipelines.__call__": (44, _PUBLIC),
        "ops/cli/commands/processes/deploy_kubernetes.py:options": (50, "a list of options, one call each"),
    },
    "branches": {},
    "parameters": {
        "actors/tasks.py:Tasks.run": (12, _PUBLIC),
        "ops/simulation/plugin.py:Pipelines.__call__": (9, _PUBLIC),
        "broker/connect.py:connect": (7, "one keyword argument for each setting of a broker"),
        "jobs/catalogue/sources/load.py:load": (7, "one keyword argument for each setting of a load"),
        "jobs/runners/__init__.py:Runner.run": (
            7,
            "interface of all runners: one argument for each service of a run",
        ),
        "ledger/recovery/leases.py:join": (8, "one keyword argument for each column of a worker's row"),
        "planner/compensation.py:plan_of": (7, "pure: one argument for each fact that the ledger supplies"),
        "actors/executor/execution.py:Execution.__init__": (9, _COLLABORATORS),
        "actors/worker/heartbeat.py:Heartbeat.__init__": (8, _COLLABORATORS),
        "actors/worker/process.py:Process.__init__": (7, _COLLABORATORS),
        "jobs/model/job.py:Job.__init__": (7, _COLLABORATORS),
        "jobs/sagas/engine.py:Pilot.__init__": (7, _COLLABORATORS),
        "ops/simulation/flights.py:FlightRun.__init__": (9, _COLLABORATORS),
        "ops/simulation/installation.py:SimulatedInstallation.__init__": (8, _COLLABORATORS),
        "ops/simulation/pipeline.py:Simulated.__init__": (
            9,
            "one keyword argument for each option of the fixture",
        ),
        "jobs/sagas/rehearsal.py:Rehearsal.__init__": (8, _COLLABORATORS),
    },
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines(source: Source) -> dict[str, int]:
    """Return the functions that are too long, with their lines."""
    return _too_high(source, "lines")


def branches(source: Source) -> dict[str, int]:
    """Return the functions with too many branches, with their number."""
    return _too_high(source, "branches")


def parameters(source: Source) -> dict[str, int]:
    """Return the functions with too many parameters, with their number. ``self`` does not count."""
    return _too_high(source, "parameters")


def measured(function: Function) -> dict[str, tuple[int, int]]:
    """Return each measure's value and limit."""
    return {
        "lines": ((function.end_lineno or function.lineno) - function.lineno + 1, LINES_MAX),
        "branches": (branches_of(function), BRANCHES_MAX),
        "parameters": (parameters_of(function), PARAMETERS_MAX),
    }


def _too_high(source: Source, measure: str) -> dict[str, int]:
    """Return the values above the limit by function, ``path:class.function``. An exception has a limit of its own."""
    found: dict[str, int] = {}
    for name, node in all_functions(source):
        value, most = measured(node)[measure]
        own = EXCEPTIONS[measure].get(name)
        if value > (own[0] if own else most):
            found[name] = value
    return found


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
