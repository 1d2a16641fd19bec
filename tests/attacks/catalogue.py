"""All attacks. Importing this module registers them."""

from tests.attacks import on_console, on_database, on_definitions, on_files, on_jobs, on_plans, on_submissions
from tests.attacks.attack import ATTACKS

__all__ = [
    "ATTACKS",
    "on_console",
    "on_database",
    "on_definitions",
    "on_files",
    "on_jobs",
    "on_plans",
    "on_submissions",
]
