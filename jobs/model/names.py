"""Names of jobs: app and key."""

from typing import NamedTuple


class JobName(NamedTuple):
    """Name of a job in definitions and for people."""

    #: Name of the app.
    app: str
    #: Key of the job in its canonical form. Empty if the app has no identifiers.
    key: str

    def __str__(self) -> str:
        return f"{self.app}/{self.key}" if self.key else self.app


class Claim(NamedTuple):
    """Right of one worker to run one job. It is valid while the ledger holds this number for the job."""

    job: int
    number: int
