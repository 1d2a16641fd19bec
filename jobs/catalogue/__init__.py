"""The catalogue: definitions become apps.

It owns the grammar of definitions (files and decorators alike) and everything that can be known of them
before there is a job. ``load`` reads sources and checks them as a whole; a ``Catalogue`` that exists has no
fault: every parent exists, nothing runs in a circle, every value fits its identifier, and whose jobs need
whose can be read from either end. In the order of the work:

    sources       which file, module, folder or address; ``documents`` and ``functions`` read them, and
                  ``stau`` those that are written Stau's way
    words         one app's words, each checked by itself        → ``draft``
                  (``chunks`` has those of an app that is keyed by chunk, ``partitions`` those of one that is keyed by
                  partition, ``work`` those of what a job does)
    lineage       which app fills the tables that others read; in the end, the versions that follow from it
    kinds, typed  what each identifier is, over all linked apps  → ``jobs.app.App``
    linking       what each group comes to                       → ``links``
    schedules     what is submitted by itself, and when          → ``jobs.schedule.Schedule``
                  (``schedule_words`` one by one, ``schedule_request`` against the app that it is for)
    definitions   the catalogue

Faults are gathered, not raised one by one. It knows nothing of jobs that exist, of clocks or of the
environment: defaults, the delimiter and the way to a server (``remote``) are arguments. ``snapshot`` tells
whoever loads again whether there is a reason to.
"""

from sluice.jobs.catalogue.definitions import Catalogue
from sluice.jobs.catalogue.functions import resolve_function
from sluice.jobs.catalogue.loading import LIMIT, load
from sluice.jobs.catalogue.policy import parse_policy

__all__ = ["LIMIT", "Catalogue", "load", "parse_policy", "resolve_function"]
