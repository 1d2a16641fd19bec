"""The catalogue: turns definitions into apps.

It owns the grammar of definitions, of files and decorators alike, and everything that can be derived from them before a
job exists. ``load`` reads sources and checks them as a whole. A ``Catalogue`` that exists has no fault: every parent
exists, no dependencies form a cycle, every value fits its identifier, and dependencies of jobs can be computed from
either end. The modules, in the order of the work:

    sources/      select and read a file, a module, a folder or an address (``load``, ``formats``, ``functions``,
                  ``stau``)
    fields/       the options of one app or schedule, each checked by itself (→ ``draft``)
    resolve/      ``tables`` finds the app that fills each table and the resulting versions, ``types`` the kind of each
                  identifier over all linked apps (→ ``jobs.model.app.App``), ``dependency_links`` the parents and
                  children of each group, ``digest`` the digest of each definition
    catalogue     the result; ``redundant_dependencies`` finds the dependencies in it that change no order of jobs

Faults are collected, not raised one by one. This package does not depend on existing jobs, clocks or the environment:
defaults, the delimiter and the access to a server (``remote``) are arguments. ``sources.changes`` detects whether a
reload is necessary.
"""

from sluice.jobs.catalogue.catalogue import Catalogue
from sluice.jobs.catalogue.fields.policy_options import parse_policy
from sluice.jobs.catalogue.sources.functions import resolve_function
from sluice.jobs.catalogue.sources.load import LIMIT, load
from sluice.jobs.catalogue.tenant_names import check_names

__all__ = ["LIMIT", "Catalogue", "check_names", "load", "parse_policy", "resolve_function"]
