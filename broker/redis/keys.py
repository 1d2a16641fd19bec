"""Names of keys in Redis. All are dramatiq's, except the names of the bell and the owner."""

from msgspec import Struct


class RedisKeys(Struct, frozen=True):
    namespace: str
    worker: str

    def waiting(self, queue: str) -> str:
        """Return the name of the list of ids."""
        return f"{self.namespace}:{queue}"

    def bodies(self, queue: str) -> str:
        return f"{self.namespace}:{queue}.msgs"

    def dead(self, queue: str) -> str:
        return f"{self.namespace}:{queue}.XQ"

    def dead_bodies(self, queue: str) -> str:
        return f"{self.namespace}:{queue}.XQ.msgs"

    def held(self, queue: str) -> str:
        """Return the name of the set of ids that this worker has taken from a queue and not settled."""
        return f"{self.holding}{self.worker}.{queue}"

    @property
    def holding(self) -> str:
        """Prefix of the names of all those sets."""
        return f"{self.namespace}:__acks__."

    @property
    def heartbeats(self) -> str:
        return f"{self.namespace}:__heartbeats__"

    @property
    def owner(self) -> str:
        """Name of the key with the installation that the namespace belongs to."""
        return f"{self.namespace}:__installation__"

    @property
    def bell(self) -> str:
        """Name of the channel on which every publisher of Sluice names the queue that it has filled."""
        return f"{self.namespace}:__bell__"
