"""Jobs that did not end in the time of ``due_within``: in lists, in ``sluice show`` and in ``sluice why``."""

from typing import Any

import pytest

from sluice.ops.console.access import AccessControl
from sluice.ops.console.http_message import Request
from tests.ops.console_client import HERE, TOKEN, console_of, told
from tests.ops.site import WORDS, Site


@pytest.fixture
def late(site: Site) -> Site:
    """Return a site with two late jobs, of which one has ended since, and a job that is in time."""
    site.define({"load": WORDS | {"due_within": "1h"}, "plain": WORDS})
    for key in "12":
        site.world.submit("load", key)
    site.world.tick(after_s=3601)
    site.world.finish("load/2")
    site.world.submit("load", "3")
    site.world.submit("plain", "1")
    return site


def listed(site: Site, query: str) -> dict[str, Any]:
    answering = console_of(site.world, AccessControl(TOKEN))
    answer = answering.answer(Request(method="GET", path="/api/jobs", query=query, headers=HERE, body=b""))
    return {f"{each['app']}/{each['key']}": each["late"] for each in told(answer)["jobs"]}


def test_lists_have_the_mark_and_the_filter(late: Site) -> None:
    assert listed(late, "") == {"load/1": True, "load/2": True, "load/3": False, "plain/1": False}
    assert listed(late, "late=true") == {"load/1": True, "load/2": True}
    assert listed(late, "late=true&state=ready") == {"load/1": True}
    assert {each["key"] for each in late.says("ls", "--late")} == {"1", "2"}
    text = late.types("ls", "--late")
    assert "ready, late" in text
    assert "succeeded, late" in text


@pytest.mark.parametrize(
    ("job", "shown", "reason"),
    [
        (("load", "1"), "late since 20", "; it is late since 20"),
        (("load", "2"), "ended late, after 20", "; it ended late, after 20"),
        (("load", "3"), "late from 20", None),
        (("plain", "1"), None, None),
    ],
)
def test_show_and_why_say_that_a_job_is_late(
    late: Site, job: tuple[str, str], shown: str | None, reason: str | None
) -> None:
    document, text, because = (
        late.says("show", *job),
        late.types("show", *job),
        late.says("why", *job)["because"],
    )
    assert document["late"] is (job in (("load", "1"), ("load", "2")))
    assert (document["late_at"] is None) is (job[0] == "plain")
    assert shown in text if shown else " late" not in text
    assert reason in because if reason else "late" not in because
