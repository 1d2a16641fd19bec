"""Lanes: every failpoint, the kind of process that reaches it, and the load that it gets until then."""

from collections.abc import Sequence

from msgspec import Struct

from sluice.broker.messages import CONTROL
from sluice.jobs.observe.failpoints import Failpoint, Point
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
        "payer",
        "cutter",
        "slice",
        "plate",
        "notice",
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
            Failpoint.CLAIM_WRITTEN,
            Failpoint.CLAIM_COMMITTED,
            Failpoint.CLAIM_ACKNOWLEDGED,
            Failpoint.RUN_BEGINS,
            Failpoint.RUN_ENDED,
            Failpoint.SETTLE_WRITTEN,
            Failpoint.SETTLE_COMMITTED,
        ),
    ),
    Lane(
        name="hand-off",
        broker="rabbitmq",
        queues=APPS,
        loads=("whole", "bank"),
        points=(
            Failpoint.HAND_OFF_TAKEN,
            Failpoint.LONE_END_BEGINS,
            Failpoint.LONE_END_COMMITTED,
            Failpoint.HAND_OFF_BEGINS,
            Failpoint.USER_WRITTEN,
            Failpoint.USER_COMMITTED,
        ),
    ),
    Lane(
        name="processes",
        broker="redis",
        queues=APPS,
        loads=("print", "programs", "elsewhere"),
        points=(
            Failpoint.BLOB_BEGINS,
            Failpoint.BLOB_STORED,
            Failpoint.PROGRAM_FETCHED,
            Failpoint.PROGRAM_UNPACKED,
            Failpoint.PROGRAM_INSTALLED,
            Failpoint.LEAVE_WRITTEN,
            Failpoint.LEAVE_COMMITTED,
            Failpoint.RECORD_WRITTEN,
            Failpoint.RECORD_COMMITTED,
        ),
    ),
    Lane(
        name="flights",
        broker="redis",
        queues=APPS,
        loads=("flight", "undone", "pay"),
        points=(
            Failpoint.FLIGHT_TAKEN_UP,
            Failpoint.DO_BEGINS,
            Failpoint.DO_ANSWERED,
            Failpoint.UNDO_BEGINS,
            Failpoint.UNDO_ANSWERED,
            Failpoint.ENTRY_UNCOMMITTED,
            Failpoint.ENTRY_COMMITTED,
            Failpoint.STEP_WRITTEN,
            Failpoint.STEP_COMMITTED,
        ),
    ),
    Lane(
        name="planner",
        broker="rabbitmq",
        queues=(PLANNER,),
        loads=("diamond", "stumble", "fan", "chunks", "cancel"),
        points=(
            Failpoint.SUBMIT_WRITTEN,
            Failpoint.SUBMIT_COMMITTED,
            Failpoint.PLAN_WRITTEN,
            Failpoint.PLAN_COMMITTED,
            Failpoint.CHUNKS_WRITTEN,
            Failpoint.CHUNKS_COMMITTED,
            Failpoint.JUDGE_WRITTEN,
            Failpoint.JUDGE_COMMITTED,
            Failpoint.ENDED_WRITTEN,
            Failpoint.ENDED_COMMITTED,
            Failpoint.EXPAND_WRITTEN,
            Failpoint.EXPAND_COMMITTED,
            Failpoint.PUSH_WRITTEN,
            Failpoint.PUSH_COMMITTED,
            Failpoint.CANCEL_WRITTEN,
            Failpoint.CANCEL_COMMITTED,
        ),
    ),
    Lane(
        name="groomer",
        broker="redis",
        queues=(GROOMER,),
        loads=("stumble", "print"),
        points=(
            Failpoint.GROOM_WRITTEN,
            Failpoint.GROOM_COMMITTED,
            Failpoint.SWEEP_WRITTEN,
            Failpoint.SWEEP_COMMITTED,
            Failpoint.BLOB_REMOVED,
        ),
        keeps="1s",
    ),
    Lane(
        name="scheduler",
        broker="rabbitmq",
        queues=(SCHEDULER,),
        loads=("diamond",),
        points=(Failpoint.TICK_LED, Failpoint.TICK_SENT, Failpoint.LOOK_WRITTEN, Failpoint.LOOK_COMMITTED),
    ),
    Lane(
        name="notifier",
        broker="redis",
        queues=(SCHEDULER,),
        loads=("notice",),
        points=(
            Failpoint.NOTIFY_WRITTEN,
            Failpoint.NOTIFY_COMMITTED,
            Failpoint.DELIVER_WRITTEN,
            Failpoint.DELIVER_COMMITTED,
        ),
    ),
    Lane(
        name="client",
        main=order,
        broker="rabbitmq",
        queues=(),
        loads=(),
        points=(
            Failpoint.CLIENT_WRITTEN,
            Failpoint.CLIENT_COMMITTED,
            Failpoint.CLIENT_TOLD,
            Failpoint.CALLED_OFF,
        ),
    ),
    Lane(
        name="up",
        main=up,
        broker="memory",
        queues=(*CONTROL, *APPS),
        loads=("diamond", "stumble", "post"),
        points=(
            Failpoint.COMMIT_BEGINS,
            Failpoint.COMMIT_RETURNED,
            Failpoint.PUBLISH_BEGINS,
            Failpoint.PUBLISH_RETURNED,
            Failpoint.CLIENT_WRITTEN,
            Failpoint.CLIENT_COMMITTED,
            Failpoint.CLIENT_TOLD,
            Failpoint.PLAN_TAKEN,
            Failpoint.PLANNED_BEGINS,
        ),
    ),
)
