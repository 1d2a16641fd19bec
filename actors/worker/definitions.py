"""Definitions of this process, and the thread that reloads them when they change.

``Definitions`` reads the sources of the definitions and detects changes. ``DefinitionReloader`` is a thread that checks
every two seconds whether they have changed.
"""

import gc
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from threading import Event, Thread

from sluice.actors.settings import tls
from sluice.actors.settings.settings import Settings
from sluice.jobs.catalogue import Catalogue, check_names, load
from sluice.jobs.catalogue.resolve.digest import KnownDefinitions, known
from sluice.jobs.catalogue.sources.changes import ImportedModules, Snapshot, snapshot
from sluice.jobs.catalogue.sources.remote import BRANCH, Fetch, Stored, Unread
from sluice.jobs.errors import BadSetting, DefinitionError, Fault, Unreachable
from sluice.jobs.observe.outages import missed
from sluice.jobs.text.server_address import without_password
from sluice.jobs.text.units import counted

_LOG = logging.getLogger("sluice.definitions")

#: Characters of a problem that are stored in the ledger. The log has all of it.
PROBLEM_CHARACTERS_MAX = 500


def fetcher(settings: Settings) -> Fetch:
    """Return a function that reads the sources ``redis://`` and ``branch://``. Their drivers are imported only if such
    a source is used."""

    def fetch(address: str) -> Stored | Unread:
        if address.startswith(BRANCH):
            from sluice.actors import branches  # noqa: PLC0415 - most processes read files alone

            return branches.stored(settings, address)
        from sluice.broker.redis import definitions  # noqa: PLC0415 - most processes read files alone

        return definitions.fetch(address)

    return fetch


class Definitions:
    """Current definitions of a process. ``current`` is always a valid catalogue; ``look`` replaces it by a newer one.

    Creating an instance is the only way to load a catalogue from settings. DefinitionError lists every fault.
    BadSetting if the address of a source is not secure enough (``actors.settings.tls``).

    Files, folders of Python files and sources on servers are read again after a change. Modules that Python has
    imported are not, because other modules keep references to their contents, and a second copy would exist beside the
    first. Such a change is logged, and takes effect after a restart.

    Only one thread may call ``look``. Any thread may read ``current``.
    """

    def __init__(self, settings: Settings, *, fetch: Fetch | None = None) -> None:
        self._settings = settings
        tls.require(settings, "SLUICE_APPS")
        self._fetch = fetch or fetcher(settings)
        # Taken before the load, so that the next ``look`` finds a change that happens during the load.
        fetched = cache(self._fetch)
        self._loaded = self._tried = snapshot(settings.apps, fetched)
        self._current = self._load(fetched)
        self._modules = ImportedModules(settings.apps)
        self._changed_modules: set[str] = set()
        self._faults: frozenset[Fault] = frozenset()
        self._since = datetime.now(UTC)
        self._known = known(self._current)
        # Objects that are imported and loaded by now stay as long as the process. Otherwise the garbage collector would
        # scan all of them again and again during a plan of 100,000 jobs.
        gc.freeze()

    @property
    def current(self) -> Catalogue:
        """Current catalogue. Read it once for values that must fit together, because the next read may return another
        one."""
        return self._current

    @property
    def since(self) -> datetime:
        """Time at which the current catalogue was loaded."""
        return self._since

    @property
    def known(self) -> KnownDefinitions:
        """Value with the digests, for comparison with other processes. After a change it is a new object."""
        return self._known

    def look(self, *, also_modules: bool = True) -> None:
        """Load changed definitions. If they have a fault or cannot be read, everything stays as it was.

        ``also_modules``: check whether imported modules have changed. There may be hundreds of them, and a change only
        leads to a warning.
        """
        if also_modules:
            self._look_at_modules()
        else:
            self._modules.find_new()
        self._look_at_sources()
        fresh = known(self._current, self._problem())
        if fresh != self._known:
            self._known = fresh

    def _look_at_sources(self) -> None:
        fetched = cache(self._fetch)
        seen = snapshot(self._settings.apps, fetched)
        if seen == self._tried:
            return
        self._tried = seen
        if seen == self._loaded:
            _LOG.info("the definitions match the loaded ones again")
            self._faults = frozenset()
        elif away := _away(seen):
            self._complain(away)
        else:
            self._take_up(seen, fetched)

    def _take_up(self, seen: Snapshot, fetched: Fetch) -> None:
        try:
            catalogue = self._load(fetched)
        except DefinitionError as error:
            self._complain(frozenset(error.faults))
        else:
            _LOG.info("the definitions have changed: %s", _difference(self._current, catalogue))
            self._loaded, self._current, self._faults = seen, catalogue, frozenset()
            self._since = datetime.now(UTC)

    def _load(self, fetch: Fetch) -> Catalogue:
        settings = self._settings
        catalogue = load(
            settings.apps,
            default_job_id=settings.default_job_id,
            delimiter=settings.key_delimiter,
            fetch=fetch,
            unknown_app_grace_s=settings.unknown_app_grace_s,
        )
        check_names(catalogue, settings.tenants)
        catalogue.tenant_settings = settings.tenants
        return catalogue

    def _complain(self, faults: frozenset[Fault]) -> None:
        """Log each fault that is new, on one line."""
        for fault in sorted(faults - self._faults):
            _LOG.error("the definitions stay as they were: %s", fault)
        self._faults = faults

    def _problem(self) -> str | None:
        """Return why a change is not applied, or None."""
        found = [str(fault) for fault in sorted(self._faults)]
        if self._changed_modules:
            modules = ", ".join(sorted(self._changed_modules))
            found.insert(0, f"{modules} changed, and Python modules are reloaded only by a restart")
        if not found:
            return None
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return f"{found[0]}{more}"[:PROBLEM_CHARACTERS_MAX]

    def _look_at_modules(self) -> None:
        changed = self._modules.changed()
        self._changed_modules.update(changed)
        if changed:
            _LOG.warning("%s changed; restart the workers to load the change", ", ".join(sorted(changed)))


def _away(seen: Snapshot) -> frozenset[Fault]:
    """Return the sources that cannot be read. Until they can be, no Python file is executed, because the load would
    fail anyway."""
    return frozenset(
        Fault(without_password(place), "", what.why)
        for place, what in seen.items()
        if isinstance(what, Unread)
    )


def _difference(before: Catalogue, after: Catalogue) -> str:
    new, gone = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    timed = sorted({id_ for id_, _ in _timed(before) ^ _timed(after)})
    lists = (("new", new), ("gone", gone), ("schedules", timed))
    return "; ".join(
        [counted(len(after), "app"), *(f"{word}: {', '.join(apps)}" for word, apps in lists if apps)]
    )


def _timed(catalogue: Catalogue) -> set[tuple[str, str]]:
    return {(each.id, each.digest) for each in catalogue.schedules.values()}


LOOK_EVERY_S = 2.0
#: Number of checks of the definitions for each check of all imported modules: 5, so every ten seconds.
LOOKS_FOR_MODULES = 5
#: Seconds that the end of the process waits for a check that hangs in a user's module or on a server.
END_S_MAX = 5.0


class DefinitionReloader:
    """Periodic check that loads changed definitions and serves the queues of new apps.

    ``also_serve`` is None in a process with a fixed list of queues.
    """

    def __init__(self, definitions: Definitions, also_serve: Callable[[str], None] | None) -> None:
        self._definitions = definitions
        self._also_serve = also_serve
        self._complaints: dict[str, str] = {}
        self._looks = 0
        self._ended = Event()
        self._thread = Thread(target=self._live, name="reloader", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join(END_S_MAX)

    def look(self) -> None:
        """Load changed definitions. Then serve each queue that is not served yet, including queues that failed the last
        time."""
        self._looks += 1
        self._definitions.look(also_modules=self._looks % LOOKS_FOR_MODULES == 0)
        if self._also_serve is not None:
            for queue in self._definitions.current.queues:
                self._serve(queue, self._also_serve)

    def _live(self) -> None:
        while not self._ended.wait(LOOK_EVERY_S):
            try:
                self.look()
            except Exception:
                # The check may run users' code. Its errors must not affect jobs, which go on by the old definitions.
                _LOG.exception("the definitions could not be checked; they stay as they were")

    def _serve(self, queue: str, also_serve: Callable[[str], None]) -> None:
        """Serve a queue, and log once why that is not possible."""
        try:
            also_serve(queue)
        except (Unreachable, BadSetting) as error:
            if self._complaints.get(queue) == error.what:
                return
            if isinstance(error, Unreachable) and error.outages is not None:
                missed(error, "new queues served later")
            else:
                _LOG.error("queue %s is not served yet: %s %s", queue, error.what, error.advice)
            self._complaints[queue] = error.what
        else:
            self._complaints.pop(queue, None)
