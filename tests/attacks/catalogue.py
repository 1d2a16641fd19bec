"""All attacks: to import this module registers them."""

from tests.attacks import on_submissions
from tests.attacks.attack import ATTACKS

__all__ = ["ATTACKS", "on_submissions"]
