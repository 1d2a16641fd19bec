"""One job: its details, the reason for its state, its upstream and downstream jobs, and the output of its rounds."""

import re
from collections.abc import Generator, Iterator
from datetime import datetime
from itertools import chain

from msgspec import Struct

from sluice.actors.assembly import blobs
from sluice.jobs.errors import BadRequest
from sluice.jobs.model.history import Round
from sluice.jobs.states import State
from sluice.ledger.reads.job_details import ReadLimits
from sluice.ops.console.calls.apps import DrawnNeed, need_of
from sluice.ops.console.context import ConsoleContext
from sluice.ops.console.http_message import TEXT_TYPE, Response
from sluice.ops.console.route import CallArguments, NoParameters, Route
from sluice.ops.console.tenancy import OF_APP
from sluice.ops.documents.job_document import JobDocument
from sluice.ops.documents.saga_document import SagaDocument, whole_document
from sluice.ops.graph.equal_jobs import folded
from sluice.ops.graph.layout.numbers import Frame, Placed, laid
from sluice.ops.operations.job_answers import document_of, live_graph, reasons
from sluice.ops.operations.job_records import dossier_of, result_text, round_of
from sluice.ops.operations.sagas import saga_of
from sluice.ops.why.answer import Explanation as Why

#: Number of rows in the answer. A page requests the job once a second, so of a long history it gets only the last
#: rows.
BOUNDS = ReadLimits(rounds=50, texts=1, history=200, submissions=100)
#: Number of rows for a saga. Its document has the flight, and none of these rows.
_FLIGHT_ALONE = ReadLimits(rounds=0, texts=0, history=0, submissions=0)
_BYTES_TYPE = "application/octet-stream"
#: Characters of a result that the page shows: 20,000, which is some 500 lines. The whole can be downloaded.
RESULT_CHARS_MAX = 20_000
_CLAIM = re.compile("0|[1-9][0-9]{0,17}")


class DrawnJob(Struct, frozen=True, kw_only=True):
    """Job, or ``folded`` equal jobs. ``key`` of equal jobs is the first key and the last key."""

    id: str
    app: str
    key: str
    state: State
    since: datetime | None
    folded: int
    label: str
    x: float
    y: float
    width: float
    height: float


class DrawnJobs(Struct, frozen=True, kw_only=True):
    """Graph around a job, in pixels. ``focus`` is the ID of that job."""

    width: float
    height: float
    focus: str
    jobs: tuple[DrawnJob, ...]
    frames: tuple[Frame, ...]
    needs: tuple[DrawnNeed, ...]
    note: str


class Printed(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Form of an output or a result. ``download`` sends all of it as a file. Default: the part of an output that is in
    the ledger, and the first ``RESULT_CHARS_MAX`` characters of a result."""

    download: str | None = None


def job(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> JobDocument:
    app, key = asked.words
    return document_of(console.context, dossier_of(console.context, console.installation, app, key, BOUNDS))


def why(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> Why:
    app, key = asked.words
    return reasons(console.context, console.installation, app, key)[0]


def saga(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> SagaDocument:
    app, key = asked.words
    return whole_document(saga_of(console.context, console.installation, app, key, _FLIGHT_ALONE))


def graph(console: ConsoleContext, asked: CallArguments[NoParameters, NoParameters]) -> DrawnJobs:
    app, key = asked.words
    drawn = folded(live_graph(console.context, console.installation, app, key))
    found = laid(drawn)
    return DrawnJobs(
        width=found.width,
        height=found.height,
        focus=drawn.focus,
        jobs=tuple(_job(each) for each in found.nodes),
        frames=found.frames,
        needs=tuple(need_of(way) for way in found.ways),
        note=found.note,
    )


def printed(console: ConsoleContext, asked: CallArguments[Printed, NoParameters]) -> Response:
    """Return the output of one claim of the job. If the complete output cannot be read, a download fails and sends no
    part of it.
    """
    app, key, claim, what = asked.words
    if not _CLAIM.fullmatch(claim) or what not in ("output", "stderr"):
        raise BadRequest(f"No claim {claim} prints {what}.")
    found = round_of(console.context, console.installation, app, key, int(claim))
    text, blob = _kept(found, what)
    if asked.query.download is None:
        return Response(kind=TEXT_TYPE, content=text.encode("utf8", "replace"))
    # A name without the key, because a key may have any characters.
    headers = {"Content-Disposition": f'attachment; filename="round-{found.round}-{what}.txt"'}
    if blob is None:
        return Response(kind=_BYTES_TYPE, headers=headers, content=text.encode("utf8", "replace"))
    pieces = blobs(console.context.settings).read(blob)
    first = next(pieces, b"")
    return Response(kind=_BYTES_TYPE, headers=headers, pieces=_poured(first, pieces))


def result(console: ConsoleContext, asked: CallArguments[Printed, NoParameters]) -> Response:
    """Return the result of a job as indented JSON. BadRequest if it has none."""
    app, key = asked.words
    text = result_text(console.context, console.installation, app, key)
    if asked.query.download is None:
        return Response(kind=TEXT_TYPE, content=_first_part(text).encode("utf8", "replace"))
    headers = {"Content-Disposition": 'attachment; filename="result.json"'}
    return Response(kind=_BYTES_TYPE, headers=headers, content=text.encode("utf8", "replace"))


def _first_part(text: str) -> str:
    left_out = len(text) - RESULT_CHARS_MAX
    return text if left_out <= 0 else f"{text[:RESULT_CHARS_MAX]}\n… {left_out} characters left out"


def _kept(each: Round, what: str) -> tuple[str, str | None]:
    if what == "output":
        return each.output or "", each.output_blob
    return each.stderr or "", each.stderr_blob


def _poured(first: bytes, rest: Iterator[bytes]) -> Generator[bytes, None, None]:
    yield from filter(None, chain([first], rest))


def _job(placed: Placed) -> DrawnJob:
    node, box = placed.node, placed.box
    if node.state is None or node.key is None:
        raise AssertionError(f"{node.id} is drawn as a job, but has no state")
    return DrawnJob(
        id=node.id,
        app=node.app,
        key=node.key,
        state=node.state,
        since=node.since,
        folded=node.count,
        label=placed.key,
        x=box.x,
        y=box.y,
        width=box.width,
        height=box.height,
    )


_PATH = "/api/jobs/{app}/{key}"
ROUTES = (
    Route(
        method="GET",
        path=_PATH,
        call=job,
        summary="One job, with its last rounds, transitions and submissions",
        answers=JobDocument,
        tenancy=OF_APP,
    ),
    Route(
        method="GET",
        path=f"{_PATH}/why",
        call=why,
        summary="The reason for the state of a job, and remedies",
        answers=Why,
        tenancy=OF_APP,
    ),
    Route(
        method="GET",
        path=f"{_PATH}/graph",
        call=graph,
        summary="A job with its upstream and downstream jobs, laid out",
        answers=DrawnJobs,
        tenancy=OF_APP,
    ),
    Route(
        method="GET",
        path=f"{_PATH}/rounds/{{claim}}/{{what}}",
        call=printed,
        summary="The output of one claim of a job",
        answers=str,
        tenancy=OF_APP,
        query=Printed,
        kind=TEXT_TYPE,
        words={"what": ("output", "stderr")},
    ),
    Route(
        method="GET",
        path=f"{_PATH}/result",
        call=result,
        summary="The value that the function of a job returned",
        answers=str,
        tenancy=OF_APP,
        query=Printed,
        kind=TEXT_TYPE,
    ),
    Route(
        method="GET",
        path=f"{_PATH}/saga",
        call=saga,
        summary="A saga's steps, done and undone",
        answers=SagaDocument,
        tenancy=OF_APP,
    ),
)
