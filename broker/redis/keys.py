"""How things are called in Redis. All but the bell and the owner are dramatiq's names."""

from msgspec import Struct


class Keys(Struct, frozen=True):
    namespace: str
    worker: str

    def waiting(self, queue: str) -> str:
        """The list of ids."""
        return f"{self.namespace}:{queue}"

    def bodies(self, queue: str) -> str:
        return f"{self.namespace}:{queue}.msgs"

    def dead(self, queue: str) -> str:
        return f"{self.namespace}:{queue}.XQ"

    def dead_bodies(self, queue: str) -> str:
        return f"{self.namespace}:{queue}.XQ.msgs"

    def held(self, queue: str) -> str:
        """The ids that this worker has taken off a queue and not settled."""
        return f"{self.holding}{self.worker}.{queue}"

    @property
    def holding(self) -> str:
        """How the names of all those sets begin."""
        return f"{self.namespace}:__acks__."

    @property
    def heartbeats(self) -> str:
        return f"{self.namespace}:__heartbeats__"

    @property
    def owner(self) -> str:
        """The installation that the namespace belongs to."""
        return f"{self.namespace}:__installation__"

    @property
    def bell(self) -> str:
        """The channel on which every publisher of ours names the queue it has filled."""
        return f"{self.namespace}:__bell__"
