"""Lanes: every failpoint, the kind of process that reaches it, and the load that it gets until then."""

from collections.abc import Sequence

from msgspec import Struct

from sluice.broker.messages import CONTROL
from sluice.jobs.observe.failpoints import Place, Point
from tests.crashes.declared import PROGRAMS
from tests.crashes.victims import Main, order, up, work

APPS = (
    *(
        "top",
        "left",
        "right",
        "bottom",
        "shaky",
        "steadied",
        "banker",
        "printer",
        "idler",
        "far",
        "bell",
        "pointed",
    ),
    *("extract", "clean", "report"),
    *PROGRAMS,
)
PLANNER, GROOMER, SCHEDULER = CONTROL


class Lane(Struct, frozen=True, kw_only=True):
    """Processes of one kind that die one after another at these points. Each also does the work that earlier ones left.

    They serve ``queues``. All other queues are served by a worker that lives until the end. ``loads`` are names of
    loads in ``tests.crashes.market``.
    """

    name: str
    main: Main = work
    broker: str
    queues: tuple[str, ...]
    loads: tuple[str, ...]
    points: tuple[Point, ...]
    keeps: str = "off"

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(queue for queue in (*CONTROL, *APPS) if queue not in self.queues)


LANES: Sequence[Lane] = (
    Lane(
        name="executor",
        broker="rabbitmq",
        queues=APPS,
        loads=("diamond", "bank"),
        points=(
            Place.CLAIM_WRITTEN,
            Place.CLAIM_COMMITTED,
            Place.CLAIM_ACKNOWLEDGED,
            Place.RUN_BEGINS,
            Place.RUN_ENDED,
            Place.SETTLE_WRITTEN,
            Place.SETTLE_COMMITTED,
        ),
    ),
    Lane(
        name="hand-off",
        broker="rabbitmq",
        queues=APPS,
        loads=("whole", "bank"),
        points=(
            Place.HAND_OFF_TAKEN,
            Place.HAND_OFF_BEGINS,
            Place.USER_WRITTEN,
            Place.USER_COMMITTED,
        ),
    ),
    Lane(
        name="processes",
        broker="redis",
        queues=APPS,
        loads=("print", "programs", "elsewhere"),
        points=(
            Place.BLOB_BEGINS,
            Place.BLOB_STORED,
            Place.PROGRAM_FETCHED,
            Place.PROGRAM_UNPACKED,
            Place.PROGRAM_INSTALLED,
            Place.LEAVE_WRITTEN,
            Place.LEAVE_COMMITTED,
            Place.RECORD_WRITTEN,
            Place.RECORD_COMMITTED,
        ),
    ),
    Lane(
        name="flights",
        broker="redis",
        queues=APPS,
        loads=("flight", "undone"),
        points=(
            Place.FLIGHT_TAKEN_UP,
            Place.DO_BEGINS,
            Place.DO_ANSWERED,
            Place.UNDO_BEGINS,
            Place.UNDO_ANSWERED,
            Place.ENTRY_WRITTEN,
            Place.ENTRY_COMMITTED,
        ),
    ),
    Lane(
        name="planner",
        broker="rabbitmq",
        queues=(PLANNER,),
        loads=("diamond", "stumble", "chunks", "cancel"),
        points=(
            Place.SUBMIT_WRITTEN,
            Place.SUBMIT_COMMITTED,
            Place.PLAN_WRITTEN,
            Place.PLAN_COMMITTED,
            Place.CHUNKS_WRITTEN,
            Place.CHUNKS_COMMITTED,
            Place.JUDGE_WRITTEN,
            Place.JUDGE_COMMITTED,
            Place.ENDED_WRITTEN,
            Place.ENDED_COMMITTED,
            Place.PUSH_WRITTEN,
            Place.PUSH_COMMITTED,
            Place.CANCEL_WRITTEN,
            Place.CANCEL_COMMITTED,
        ),
    ),
    Lane(
        name="groomer",
        broker="redis",
        queues=(GROOMER,),
        loads=("stumble", "print"),
        points=(
            Place.GROOM_WRITTEN,
            Place.GROOM_COMMITTED,
            Place.SWEEP_WRITTEN,
            Place.SWEEP_COMMITTED,
            Place.BLOB_REMOVED,
        ),
        keeps="1s",
    ),
    Lane(
        name="scheduler",
        broker="rabbitmq",
        queues=(SCHEDULER,),
        loads=("diamond",),
        points=(Place.TICK_LED, Place.TICK_SENT, Place.LOOK_WRITTEN, Place.LOOK_COMMITTED),
    ),
    Lane(
        name="client",
        main=order,
        broker="rabbitmq",
        queues=(),
        loads=(),
        points=(Place.CLIENT_WRITTEN, Place.CLIENT_COMMITTED, Place.CLIENT_TOLD, Place.CALLED_OFF),
    ),
    Lane(
        name="up",
        main=up,
        broker="memory",
        queues=(*CONTROL, *APPS),
        loads=("diamond", "stumble", "post"),
        points=(
            Place.COMMIT_BEGINS,
            Place.COMMIT_RETURNED,
            Place.PUBLISH_BEGINS,
            Place.PUBLISH_RETURNED,
            Place.CLIENT_WRITTEN,
            Place.CLIENT_COMMITTED,
            Place.CLIENT_TOLD,
        ),
    ),
)
