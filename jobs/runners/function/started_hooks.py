"""Hooks of a process, started once each."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from threading import Lock

from sluice.jobs.api.hooks import Hooks
from sluice.jobs.errors import BadSetting
from sluice.jobs.model.job import Job

_LOG = logging.getLogger("sluice.hooks")


class StartedHooks:
    """Hooks that were started in this process, in their order.

    ``paths`` are the hooks of all functions. ``find`` returns the object of a path
    (``jobs.catalogue.sources.functions.find_object``).
    """

    def __init__(self, find: Callable[[str], object], paths: Iterable[str] = ()) -> None:
        self.paths = tuple(paths)
        self._find = find
        self._started: list[Hooks] = []
        self._lock = Lock()

    def of(self, paths: Iterable[str] = ()) -> Sequence[Hooks]:
        """Return the hooks of all functions and these hooks, and start any that are new.

        BadSetting if a hook does not exist or cannot be started.
        """
        with self._lock:
            found = [self._start(path) for path in dict.fromkeys((*self.paths, *paths))]
        # A module may import hooks of another one. They are used once.
        return [*{id(hooks): hooks for hooks in found}.values()]

    def stop(self) -> None:
        """Stop the hooks, the last one first. An error is logged, because the process ends in any case."""
        with self._lock:
            started, self._started = self._started, []
        for hooks in reversed(started):
            try:
                hooks.worker_stopping()
            except Exception:
                _LOG.exception("worker_stopping of %s failed", type(hooks).__qualname__)

    def _start(self, path: str) -> Hooks:
        try:
            hooks = self._find(path)
        except ValueError as error:
            raise BadSetting(f"The hooks {path} cannot be loaded: {error}") from None
        if not isinstance(hooks, Hooks):
            raise BadSetting(
                f"{path} is no instance of Hooks.", advice="Write module:name, where name is an instance."
            )
        if not any(hooks is each for each in self._started):
            try:
                hooks.worker_started()
            except Exception as error:
                raise BadSetting(
                    f"The hooks {path} cannot be started: {type(error).__name__}: {error}"
                ) from error
            self._started.append(hooks)
        return hooks


@contextmanager
def around(hooks: Sequence[Hooks], job: Job) -> Iterator[None]:
    """Enter the context managers of the hooks, and leave them in the reverse order."""
    with ExitStack() as stack:
        for each in hooks:
            stack.enter_context(each.around(job))
        yield
