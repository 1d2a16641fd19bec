"""Roles, and the senders of requests that have one."""

from enum import StrEnum

from msgspec import Struct


class Role(StrEnum):
    """Role of a sender. Each may do everything that the roles before it may do: ``view`` reads, ``submit`` also
    submits jobs, and ``operate`` also cancels, retries, pauses, and carries out all other acts.
    """

    VIEW = "view"
    SUBMIT = "submit"
    OPERATE = "operate"

    def may(self, needed: "Role") -> bool:
        order = [*Role]
        return order.index(self) >= order.index(needed)


class Identity(Struct, frozen=True, kw_only=True):
    """Token or user with a role. ``tenant`` is the only tenant whose apps it may see. None: the whole installation."""

    name: str
    role: Role
    tenant: str | None = None


class Who(Identity, frozen=True, kw_only=True):
    """Sender with access. ``at`` is the sender's address."""

    at: str

    def __str__(self) -> str:
        return f"{self.name} from {self.at}" if self.at else self.name
