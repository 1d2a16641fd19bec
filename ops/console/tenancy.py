"""Tenancy: the apps that a sender may see, and the decision of each call about senders of one tenant.

Invariants:

- A sender of one tenant reads and changes only jobs, submissions, schedules, sagas, notifications and partitions of
  apps of its tenant. The decision is a part of the call's route, and the dispatcher applies it before the call
  (``apps``, ``also``) and after it (``keeps``). A call that reads many objects is limited to these apps.
- A route without a decision is refused for such senders, like a call about the whole installation.
- The tenant of an app is that of the console's definitions at the time of the request. An app that they do not have
  belongs to no tenant, and so does every app if the console has no definitions.
- An object of another tenant is answered like a missing object.

A dependency between apps of two tenants is visible from both sides: the names, keys and states of jobs that wait for
each other, in the graph of a job, in the reason for its state, and in the definition of the app. So are the jobs that
hold a shared concurrency limit.
"""

from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sluice.jobs.catalogue import Catalogue
from sluice.jobs.errors import BadRequest


class TenantReach(Struct, frozen=True):
    """Apps that a sender may see, and confs of which it may see all apps. None: the whole installation."""

    tenant: str | None = None
    apps: frozenset[str] | None = None

    def has(self, app: str | None) -> bool:
        return self.apps is None or app in self.apps

    @property
    def listed(self) -> list[str] | None:
        """The names as a parameter of a query. None does not restrict it."""
        return None if self.apps is None else sorted(self.apps)


class OutOfReach(BadRequest):
    """Raised when a sender of one tenant may not make a request: 404 if it names an object that is missing or belongs
    to another tenant, and 403 if it would also concern other tenants.
    """

    def __init__(self, status: HTTPStatus, what: str, *, advice: str) -> None:
        super().__init__(what, advice=advice)
        self.status = status


class Tenancy(Struct, frozen=True, kw_only=True):
    """Decision of a call about senders of one tenant. The functions get the console and the arguments of the call.

    ``apps`` returns the apps of the named object. Without an app, or with an app of another tenant, the answer is 404.
    ``also`` returns further apps that the act would concern. With an app of another tenant, the answer is 403.
    ``keeps`` returns the part of the answer that the sender may see. ``is_whole``: the call is about the whole
    installation, and refused.
    """

    apps: Callable[[Any, Any], Iterable[str]] | None = None
    also: Callable[[Any, Any], Iterable[str]] | None = None
    keeps: Callable[[Any, Any], Any] | None = None
    is_whole: bool = False

    def admit(self, console: Any, asked: Any) -> None:
        """Raise if the sender may not make this request."""
        reach: TenantReach = asked.reach
        if reach.apps is None:
            return
        if self.is_whole:
            raise OutOfReach(
                HTTPStatus.FORBIDDEN,
                f"The call is about the whole installation, and your token is for the tenant {reach.tenant}.",
                advice="Use a token without a tenant.",
            )
        if self.apps is not None:
            named = [*self.apps(console, asked)]
            if not named or not all(map(reach.has, named)):
                raise OutOfReach(
                    HTTPStatus.NOT_FOUND,
                    f"The tenant {reach.tenant} has no such object.",
                    advice="Check its name, or use a token without a tenant.",
                )
        others = () if self.also is None else [app for app in self.also(console, asked) if not reach.has(app)]
        if others:
            raise OutOfReach(
                HTTPStatus.FORBIDDEN,
                f"It would also concern apps of other tenants than {reach.tenant}.",
                advice="Use a token without a tenant.",
            )

    def shown(self, document: Any, reach: TenantReach) -> Any:
        """Return the part of the answer that the sender may see."""
        return document if reach.apps is None or self.keeps is None else self.keeps(document, reach)


#: Call that shows and changes nothing of any tenant.
OPEN = Tenancy()
#: Call that reads and changes only objects of ``asked.reach``.
NARROWED = Tenancy()
#: Call about the whole installation.
INSTALLATION = Tenancy(is_whole=True)
#: Call about the app that is the first variable part of its path, or a job of it.
OF_APP = Tenancy(apps=lambda _, asked: asked.words[:1])


def listed(field: str) -> Tenancy:
    """Return the decision for a list in this field of the answer, each object of which has an ``app``."""

    def keeps(document: Any, reach: TenantReach) -> Any:
        found: Sequence[Any] = getattr(document, field)
        return replace(document, **{field: [each for each in found if reach.has(each.app)]})

    return Tenancy(keeps=keeps)


def reach_of(tenant: str | None, catalogue: Callable[[], Catalogue | None]) -> TenantReach:
    """Return the reach of a sender of this tenant. None is the whole installation."""
    if tenant is None:
        return TenantReach()
    known = catalogue()
    if known is None:
        return TenantReach(tenant, frozenset())
    own = {name for name, app in known.items() if app.tenant == tenant}
    confs = {name for name, modes in known.confs.items() if modes and own.issuperset(modes.values())}
    return TenantReach(tenant, frozenset(own | confs))
