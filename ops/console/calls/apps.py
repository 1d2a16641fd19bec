"""The apps: the definition of each, and the graph of all."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Literal

from msgspec import Struct

from sluice.actors import audit_results
from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import Unreachable
from sluice.jobs.model.app import App
from sluice.jobs.states import State
from sluice.ledger.job_graph.added_jobs import adding_apps
from sluice.ledger.reads.state_statistics import standing
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.files import is_known, tag_of
from sluice.ops.console.http_message import Response
from sluice.ops.console.route import CallArguments, NoParameters, Route, action
from sluice.ops.console.tenancy import NARROWED, OF_APP, listed
from sluice.ops.documents.app_document import AppDocument, as_document
from sluice.ops.graph.app_graph import app_graph
from sluice.ops.graph.layout.numbers import Frame, Placed, Way, laid

KeyedBy = Literal["template", "chunk", "partition"]


class DrawnApp(Struct, frozen=True, kw_only=True):
    """Box of an app. ``label`` is its name, shortened to fit the box, with a sign if the app needs itself."""

    name: str
    label: str
    x: float
    y: float
    width: float
    height: float
    job_type: str
    keyed_by: KeyedBy


class DrawnTable(Struct, frozen=True, kw_only=True):
    """Box of an external table, which no app fills. ``label`` is its ID, shortened to fit the box."""

    id: str
    table: str
    label: str
    x: float
    y: float
    width: float
    height: float


class DrawnNeed(Struct, frozen=True, kw_only=True):
    """Line from parents to children. Either side is one node, or all nodes of a frame; ``parent`` and ``child`` are
    the first of each. ``path`` is an SVG path from left to right. With ``back`` its arrow is at the left end. With
    ``added``, jobs have added the dependencies while they ran; the definitions do not have them.
    """

    parent: str
    child: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    path: str
    label: str
    label_x: float
    label_y: float
    back: bool
    added: bool


class DrawnApps(Struct, frozen=True, kw_only=True):
    """Graph of the apps and external tables, in pixels. ``note`` names omitted dependencies."""

    width: float
    height: float
    apps: tuple[DrawnApp, ...]
    tables: tuple[DrawnTable, ...]
    frames: tuple[Frame, ...]
    needs: tuple[DrawnNeed, ...]
    note: str


class AllApps(Struct, frozen=True, kw_only=True):
    apps: Sequence[AppDocument]


class CountedApp(AppDocument, frozen=True, kw_only=True):
    """App as it is defined. ``counts`` is the number of its jobs in each state."""

    counts: Mapping[State, int]


class AppsPaused(Struct, frozen=True):
    """Apps that this call paused. Apps that were paused before are not listed."""

    paused: Sequence[str]


class AppsResumed(Struct, frozen=True):
    """Apps that this call resumed. Apps that were not paused are not listed."""

    resumed: Sequence[str]


def graph(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> Response:
    """Return the graph of the apps. It changes only if the definitions change, or if an app adds jobs of another one
    for the first time.
    """
    catalogue = console.catalogue
    pictures = console.pictures(asked.reach)
    content = pictures.of(catalogue, _added(console, catalogue), partial(_drawn, among=asked.reach.apps))
    headers = {"ETag": tag_of(content), "Cache-Control": "no-cache"}
    if is_known(asked.request, headers["ETag"]):
        return Response(status=HTTPStatus.NOT_MODIFIED, headers=headers, content=b"")
    return Response(headers=headers, content=content)


def _added(console: ConsoleContext, catalogue: Catalogue) -> Sequence[tuple[str, str]]:
    """Return the pairs of apps of which one adds jobs of the other. Without the ledger, the graph has none of them,
    because it can be read without the ledger otherwise.
    """
    try:
        return console.ask(lambda tx: adding_apps(tx, [*catalogue]))
    except Unreachable:
        return []


def apps(console: ConsoleContext, _: CallArguments[NoParameters, NoParameters]) -> AllApps:
    catalogue = console.catalogue
    ordered = sorted(catalogue.values(), key=lambda app: (catalogue.rank(app.name), app.name))
    return AllApps(apps=[as_document(catalogue, app) for app in ordered])


def app(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> CountedApp:
    found = console.catalogue.app(asked.words[0])
    counts = console.ask(standing).get(found.name, {})
    return CountedApp.of(as_document(console.catalogue, found), counts=counts)


def pause(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> AppsPaused:
    """Pause an app. If it was paused before, it stays paused."""
    app = console.catalogue.app(asked.words[0]).name if console.has_definitions else asked.words[0]
    client = console.doing(asked.who, "apps pause", {"app": app}, audit_results.apps_paused)
    return AppsPaused(client.pause_apps([app], by=str(asked.who)))


def resume(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> AppsResumed:
    """Resume an app, even if it is no longer defined."""
    (app,) = asked.words
    client = console.doing(asked.who, "apps resume", {"app": app}, audit_results.all_resumed)
    return AppsResumed(client.resume_apps([app]))


def need_of(way: Way) -> DrawnNeed:
    return DrawnNeed(
        parent=way.parents[0],
        child=way.children[0],
        parents=way.parents,
        children=way.children,
        path=way.path,
        label=way.label,
        label_x=way.label_x,
        label_y=way.label_y,
        back=way.is_back,
        added=way.added,
    )


def _drawn(
    catalogue: Catalogue, added: Sequence[tuple[str, str]], *, among: Collection[str] | None
) -> DrawnApps:
    found = laid(app_graph(catalogue, None, added, among=among))
    return DrawnApps(
        width=found.width,
        height=found.height,
        apps=tuple(_app(catalogue[each.node.app], each) for each in found.nodes if not each.node.is_table),
        tables=tuple(_table(each) for each in found.nodes if each.node.is_table),
        frames=found.frames,
        needs=tuple(need_of(way) for way in found.ways),
        note=found.note,
    )


def _table(placed: Placed) -> DrawnTable:
    node, box = placed.node, placed.box
    return DrawnTable(
        id=node.id,
        table=node.app,
        label=placed.head,
        x=box.x,
        y=box.y,
        width=box.width,
        height=box.height,
    )


def _app(app: App, placed: Placed) -> DrawnApp:
    box = placed.box
    return DrawnApp(
        name=app.name,
        label=placed.head,
        x=box.x,
        y=box.y,
        width=box.width,
        height=box.height,
        job_type=app.job_type,
        keyed_by="partition" if app.partitioning else "chunk" if app.chunking else "template",
    )


ROUTES = (
    Route(
        method="GET",
        path="/api/graph",
        call=graph,
        summary="The graph of the apps, laid out",
        answers=DrawnApps,
        tenancy=NARROWED,
    ),
    Route(
        method="GET",
        path="/api/apps",
        call=apps,
        summary="All apps",
        answers=AllApps,
        tenancy=listed("apps"),
    ),
    Route(
        method="GET",
        path="/api/apps/{app}",
        call=app,
        summary="The definition of one app, and the number of its jobs in each state",
        answers=CountedApp,
        tenancy=OF_APP,
    ),
    action(
        "/api/apps/{app}/pause",
        pause,
        "Pause an app: no job of it starts, for any submission",
        answers=AppsPaused,
        tenancy=OF_APP,
    ),
    action(
        "/api/apps/{app}/resume",
        resume,
        "Resume a paused app",
        answers=AppsResumed,
        tenancy=OF_APP,
    ),
)
