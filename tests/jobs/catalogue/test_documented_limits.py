"""The definitions on the pages about retries, breakers, limits and commands can be loaded unchanged."""

import re
from pathlib import Path

import pytest

from sluice.jobs.catalogue import Catalogue, load
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


def test_the_files_on_the_breakers_page_define_the_limits_of_the_python_examples() -> None:
    python, files = _loaded("breakers")
    assert python.app("fetch").breaker == files.app("fetch").breaker
    assert python.app("fetch").breaker is not None
    assert python.app("deliver").retry_budget == files.app("deliver").retry_budget
    assert python.app("deliver").retry_budget is not None


def test_the_examples_on_the_concurrency_page_can_be_loaded() -> None:
    python, pools, rate = _loaded("concurrency")
    assert {name for name, _ in python.items()} == {"call", "query", "render", "sync"}
    assert python.app("call").rate_limit == rate.app("call").rate_limit
    limits = {name: app.policy.concurrency for name, app in pools.items()}
    assert limits["load"] == limits["report"] == python.app("query").policy.concurrency
    assert limits["extract"] is not None
    assert limits["extract"].key == "{client_id}"


def test_the_command_on_the_page_about_commands_can_be_loaded() -> None:
    (commands,) = _loaded("commands")
    fetch = commands.app("fetch")
    assert fetch.read_key("2026-11-20_oslo") == {"date": 20261120, "shop": "oslo"}
    assert fetch.policy.env_from_os == ("API_KEY",)
