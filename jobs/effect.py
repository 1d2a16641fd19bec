"""Effects of a saga across apps that may have to be undone."""

from collections.abc import Mapping

from msgspec import Struct

from sluice.jobs.ref import JobName
from sluice.jobs.states import TERMINAL, State
from sluice.jobs.submission import JSON


class Effect(Struct, frozen=True, gc=False):
    """A job that succeeded under this claim for the saga submissions ``sagas``, given by number.

    No other submission may rely on its success.
    """

    id: int
    app: str
    key: str
    claim: int
    kwargs: Mapping[str, JSON] | None
    sagas: tuple[int, ...] = ()

    @property
    def name(self) -> JobName:
        return JobName(self.app, self.key)


class Earlier(Struct, frozen=True, gc=False):
    """The present row of a compensation in the ledger. It may have undone, or be about to undo, an earlier success."""

    id: int
    state: State
    undoes_claim: int | None

    @property
    def is_live(self) -> bool:
        return self.state not in TERMINAL
