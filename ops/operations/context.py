"""Settings, definitions and user of a command or the console."""

import getpass
import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from sluice.actors.settings.settings import Settings
from sluice.jobs.errors import BadRequest

if TYPE_CHECKING:
    from sluice.actors.worker.definitions import Definitions
    from sluice.jobs.catalogue import Catalogue

T = TypeVar("T")


class OperatorContext:
    """Context manager for settings and definitions. Leaving it closes everything that was opened through it. The
    running system is a separate object, ``Installation``. With ``may_make_ledger``, an embedded ledger is created if
    none exists.
    """

    def __init__(self, settings: Settings, *, may_make_ledger: bool = True) -> None:
        self.settings = settings
        self.may_make_ledger = may_make_ledger
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()

    def keep(self, resource: AbstractContextManager[T]) -> T:
        """Open a resource and keep it open until this object is closed."""
        return self._opened.enter_context(resource)

    def closing(self, close: Callable[[], object]) -> None:
        """Register a function to call when this object is closed."""
        self._opened.callback(close)

    @property
    def has_ledger(self) -> bool:
        """True if a ledger is configured, or the embedded ledger has been created."""
        from sluice.ledger.embedded import has_postgres  # noqa: PLC0415 - slower than a help text

        return self.settings.ledger_url is not None or has_postgres(self.settings.home)

    def note_new_ledger(self) -> None:
        """Notify the user that an embedded ledger is being created, which takes some seconds."""

    @property
    def catalogue(self) -> "Catalogue":
        return self.definitions.current

    @cached_property
    def definitions(self) -> "Definitions":
        """The user's definitions. BadRequest if no source was given."""
        from sluice.actors.worker.definitions import Definitions  # noqa: PLC0415 - slower than a help text

        if not self.settings.apps:
            raise BadRequest(
                "No definitions were given.",
                advice="Name a source with --apps FILE, or set SLUICE_APPS.",
            )
        return Definitions(self.settings)


def whoami() -> str:
    """Return the user and the host, like ``ana@desk``, for the record of manual interventions. An account without a
    name is given by its number.
    """
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


def at_command_line() -> str:
    """Return the name of this process's user in the audit, like ``cli: ana@desk``."""
    return f"cli: {whoami()}"
