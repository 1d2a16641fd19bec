"""The definitions on the pages about retries, breakers, limits and commands can be loaded unchanged."""

import re
from pathlib import Path

import pytest

from sluice.jobs.catalogue import Catalogue, load
from sluice.jobs.policy.breaker import Breaker
from sluice.jobs.policy.concurrency import Concurrency
from sluice.jobs.policy.rate_limit import RateLimit
from sluice.jobs.policy.retry_budget import RetryBudget
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")

DOCS = Path(__file__).parents[3] / "docs"
_BLOCK = re.compile(r"^```(python|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _loaded(page: str) -> list[Catalogue]:
    """Return the definitions of each example of a page, in order."""
    blocks = _BLOCK.findall((DOCS / f"{page}.md").read_text())
    return [
        load([write(f"{page.replace('-', '_')}_{number}.{'py' if language == 'python' else 'yaml'}", text)])
        for number, (language, text) in enumerate(blocks)
    ]


def test_the_files_on_the_retries_page_define_the_policy_of_the_python_example() -> None:
    python, files = (catalogue.app("fetch") for catalogue in _loaded("retries"))
    assert python.policy == files.policy
    assert [round(python.policy.retry.delay_after_s(fails, 1.0)) for fails in (1, 2, 3)] == [10, 20, 40]
    assert python.policy.max_fails == 3


def test_the_example_on_the_breakers_page_has_a_breaker_and_a_budget() -> None:
    (python,) = _loaded("breakers")
    assert python.app("fetch").breaker == Breaker(fails=20, pause_s=30.0, pause_s_max=600.0)
    assert python.app("deliver").retry_budget == RetryBudget(retries=100, per_s=60.0)


def test_the_example_on_the_concurrency_page_has_the_limits_of_its_tables() -> None:
    (python,) = _loaded("concurrency")
    limits = {name: app.policy.concurrency for name, app in python.items()}
    assert limits["render"] == Concurrency(limit=3)
    assert limits["sync"] == Concurrency(limit=2, key="{customer}")
    assert limits["query"] == limits["load"] == Concurrency(limit=5, pool="warehouse")
    assert python.app("call").rate_limit == RateLimit(starts=5, per_s=1.0, burst=1, key="{customer}")


def test_the_command_on_the_page_about_commands_can_be_loaded() -> None:
    (commands,) = _loaded("commands")
    fetch = commands.app("fetch")
    assert fetch.read_key("2026-11-20_oslo") == {"date": 20261120, "shop": "oslo"}
    assert fetch.policy.env_from_os == ("API_KEY",)
