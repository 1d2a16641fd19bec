"""The planner and the values of ``jobs`` use no clock, no randomness, no environment and no I/O.

The values are the modules directly in ``jobs`` and in some of its folders. Its other folders, for example
``catalogue`` and ``runners``, read files and start processes.
"""

import ast

from tests.style.sources import Offence, Source

_WORLD = {
    "datetime.date.today",
    "datetime.datetime.now",
    "datetime.datetime.today",
    "datetime.datetime.utcnow",
    "open",
    "os.environ",
    "os.environb",
    "os.getenv",
    "os.getpid",
    "os.urandom",
    "pathlib.Path.cwd",
    "pathlib.Path.home",
    "time.gmtime",
    "time.localtime",
    "time.monotonic",
    "time.monotonic_ns",
    "time.perf_counter",
    "time.perf_counter_ns",
    "time.sleep",
    "time.time",
    "time.time_ns",
    "uuid.uuid1",
    "uuid.uuid4",
}
_WORLDLY = ("random.", "secrets.", "socket.", "subprocess.")
#: A random generator with its own seed always yields the same numbers, so it is allowed.
_SEEDED = "random.Random"


#: Folders of ``jobs`` with values only.
_PURE = ("keys", "model", "observe", "policy", "schedules", "text")


def the_core_is_pure(sources: list[Source]) -> list[Offence]:
    return [
        Offence(source.path, node.lineno, f"{name} in the pure core; take its value as an argument")
        for source in filter(_is_core, sources)
        for bound in [_bound(source)]
        for node in source.nodes
        if isinstance(node, ast.Name | ast.Attribute)
        for name in [_full_name(node, bound)]
        if name in _WORLD or (name.startswith(_WORLDLY) and name != _SEEDED)
    ]


def _is_core(source: Source) -> bool:
    room, *folders = source.path.split("/")[:-1]
    return room == "planner" or (room == "jobs" and (not folders or folders[0] in _PURE))


def _bound(source: Source) -> dict[str, str]:
    """Return the full name of each imported name."""
    bound: dict[str, str] = {}
    for node in source.nodes:
        if isinstance(node, ast.Import):
            bound |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            bound |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return bound


def _full_name(node: ast.expr, bound: dict[str, str]) -> str:
    """Return ``datetime.datetime.now`` for ``now`` of an imported ``datetime``; "" if the node is not a name."""
    match node:
        case ast.Name(name):
            return bound.get(name, name)
        case ast.Attribute(value, attribute):
            owner = _full_name(value, bound)
            return f"{owner}.{attribute}" if owner else ""
    return ""
