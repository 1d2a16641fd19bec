"""The catalogue: turns definitions into apps.

It owns the grammar of definitions, of files and decorators alike, and everything that can be derived from them before
a job exists. ``load`` reads sources and checks them as a whole. A ``Catalogue`` that exists has no fault: every
parent exists, no dependencies form a cycle, every value fits its identifier, and dependencies of jobs can be computed
from either end. The modules, in the order of the work:

    sources       select a file, module, folder or address; ``documents`` and ``functions`` read them, and
                  ``stau`` those in Stau's form
    words         the options of one app, each checked by itself    → ``draft``
                  (``chunks`` has those of an app keyed by chunk, ``partitions`` those of an app keyed by
                  partition, ``work`` those for the work of a job)
    lineage       the app that fills each table that others read; at the end, the versions that result
    kinds, typed  the kind of each identifier, over all linked apps → ``jobs.app.App``
    linking       the parents and children of each group            → ``links``
    schedules     automatic submissions and their times             → ``jobs.schedule.Schedule``
                  (``schedule_words`` checks each option, ``schedule_request`` all of them against the app)
    definitions   the catalogue

Faults are collected, not raised one by one. This package does not depend on existing jobs, clocks or the environment:
defaults, the delimiter and the access to a server (``remote``) are arguments. ``snapshot`` detects whether a reload
is necessary.
"""

from sluice.jobs.catalogue.definitions import Catalogue
from sluice.jobs.catalogue.functions import resolve_function
from sluice.jobs.catalogue.loading import LIMIT, load
from sluice.jobs.catalogue.policy import parse_policy

__all__ = ["LIMIT", "Catalogue", "load", "parse_policy", "resolve_function"]
