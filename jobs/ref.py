"""How a job is named: by its app and its key."""

from typing import NamedTuple


class JobName(NamedTuple):
    """What people and definitions call a job. The key is canonical wherever this type is used."""

    app: str
    key: str

    def __str__(self) -> str:
        return f"{self.app}/{self.key}"


class Claim(NamedTuple):
    """One worker's right to run one job: valid while the ledger holds this very number for it."""

    job: int
    number: int
