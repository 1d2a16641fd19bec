"""The apps: each as it is defined, and all of them as a graph."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal

from msgspec import Struct

from sluice.jobs.app import App
from sluice.jobs.catalogue import Catalogue
from sluice.ledger.reads.standing import standing
from sluice.ops.app_document import as_document
from sluice.ops.console import deeds
from sluice.ops.console.documents import AllApps, CountedApp
from sluice.ops.console.exchange import Answer
from sluice.ops.console.files import is_known, tag_of
from sluice.ops.console.gate import Role
from sluice.ops.console.office import Office
from sluice.ops.console.route import Asked, Nothing, Route
from sluice.ops.graph.apps import app_graph
from sluice.ops.graph.laid import Frame, Placed, Way, laid

KeyedBy = Literal["template", "chunk", "partition"]


class DrawnApp(Struct, frozen=True, kw_only=True):
    """``label`` is as much of its name as fits the box, and whether it needs itself."""

    name: str
    label: str
    x: float
    y: float
    width: float
    height: float
    job_type: str
    keyed_by: KeyedBy


class DrawnNeed(Struct, frozen=True, kw_only=True):
    """``parents`` and ``children`` are one each, or all of a frame; ``parent`` and ``child`` are the first of them.
    ``path`` is spelled as in SVG and leads to the right; ``back``: its arrow is at the left end."""

    parent: str
    child: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    path: str
    label: str
    label_x: float
    label_y: float
    back: bool


class DrawnApps(Struct, frozen=True, kw_only=True):
    """In pixels. ``note`` says what could not be drawn."""

    width: float
    height: float
    apps: tuple[DrawnApp, ...]
    frames: tuple[Frame, ...]
    needs: tuple[DrawnNeed, ...]
    note: str


class AppsPaused(Struct, frozen=True):
    """Those that were not paused before."""

    paused: Sequence[str]


class AppsResumed(Struct, frozen=True):
    """Those that were paused."""

    resumed: Sequence[str]


def graph(office: Office, asked: Asked[Nothing, Nothing]) -> Answer:
    """It changes when the definitions do, and not before."""
    content = office.pictures.of(office.catalogue, _drawn)
    headers = {"ETag": tag_of(content), "Cache-Control": "no-cache"}
    if is_known(asked.request, headers["ETag"]):
        return Answer(status=HTTPStatus.NOT_MODIFIED, headers=headers, content=b"")
    return Answer(headers=headers, content=content)


def apps(office: Office, _: Asked[Nothing, Nothing]) -> Mapping[str, Any]:
    catalogue = office.catalogue
    ordered = sorted(catalogue.values(), key=lambda app: (catalogue.rank(app.name), app.name))
    return {"apps": [as_document(catalogue, app) for app in ordered]}


def app(office: Office, asked: Asked[Nothing, Nothing]) -> Mapping[str, Any]:
    found = office.catalogue.app(asked.words[0])
    counts = office.ask(standing).get(found.name, {})
    return {**as_document(office.catalogue, found), "counts": counts}


def pause(office: Office, asked: Asked[Nothing, Nothing]) -> AppsPaused:
    """One that was paused before stays so."""
    app = office.catalogue.app(asked.words[0]).name if office.has_definitions else asked.words[0]
    client = office.doing(asked.who, "apps pause", {"app": app}, deeds.all_paused)
    return AppsPaused(client.pause_apps([app], by=str(asked.who)))


def resume(office: Office, asked: Asked[Nothing, Nothing]) -> AppsResumed:
    """Also one that no definition has any more."""
    (app,) = asked.words
    client = office.doing(asked.who, "apps resume", {"app": app}, deeds.all_resumed)
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
    )


def _drawn(catalogue: Catalogue) -> DrawnApps:
    found = laid(app_graph(catalogue, None))
    return DrawnApps(
        width=found.width,
        height=found.height,
        apps=tuple(_app(catalogue[each.node.app], each) for each in found.nodes),
        frames=found.frames,
        needs=tuple(need_of(way) for way in found.ways),
        note=found.note,
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
    ),
    Route(method="GET", path="/api/apps", call=apps, summary="All apps", answers=AllApps),
    Route(
        method="GET",
        path="/api/apps/{app}",
        call=app,
        summary="One app as it is defined, and how many of its jobs are in each state",
        answers=CountedApp,
    ),
    Route(
        method="POST",
        path="/api/apps/{app}/pause",
        call=pause,
        summary="Begin none of its jobs, whoever wants them",
        answers=AppsPaused,
        role=Role.OPERATE,
    ),
    Route(
        method="POST",
        path="/api/apps/{app}/resume",
        call=resume,
        summary="Let the jobs of a paused app begin",
        answers=AppsResumed,
        role=Role.OPERATE,
    ),
)
