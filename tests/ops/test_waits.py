"""Commands that wait for a submission: the reason why there is no progress, and the end of the wait."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from sluice.jobs.model.submission import SubmissionState
from sluice.jobs.states import State
from sluice.ledger.reads.submission_progress import SubmissionProgress, SubmissionStatus
from sluice.ops.cli import follow
from sluice.ops.cli.follow import STILL_AFTER_S, Standstill, draw
from sluice.ops.cli.main import main
from sluice.ops.why.answer import Explanation, WaitsFor, in_brief
from tests.ops.site import Site
from tests.ops.typist import Typist

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
WAITING = SubmissionProgress(
    status=SubmissionStatus(1, "nightly", "c", SubmissionState.ACTIVE, None, "1", 1, NOW, None),
    now=NOW,
    planners=1,
    tally={"c": {State.WAITING: 2}},
    running=[],
    retrying=[],
    troubles=[],
)
ADVANCED = replace(WAITING, tally={"c": {State.WAITING: 1, State.SUCCEEDED: 1}})
PAUSED = replace(WAITING, status=replace(WAITING.status, paused_at=NOW))
PARENT = WaitsFor(kind="parent", what="b/1, which is ready", app="b", key="1", state=State.READY)
ROOT = WaitsFor(kind="root", what="a/1, which is ready", app="a", key="1", state=State.READY)
WHY = Explanation(
    app="c", key="1", state=State.WAITING, because="c/1 waits for 1 parent", waits_for=(PARENT,)
)


class Watch:
    """A watch set by hand, and the number of times that the ledger was asked for a reason."""

    def __init__(self, why: Explanation | None = WHY) -> None:
        self.time_s = 100.0
        self.asked = 0
        self.why = why
        self.standstill = Standstill(self._ask, lambda: self.time_s)

    def _ask(self) -> Explanation | None:
        self.asked += 1
        return self.why

    def sees(self, shown: SubmissionProgress, after_s: float = 0.0) -> Explanation | None:
        self.time_s += after_s
        return self.standstill.explained(shown)


def test_a_reason_is_given_after_some_seconds_without_progress() -> None:
    watch = Watch()
    assert watch.sees(WAITING) is None
    assert watch.sees(WAITING, STILL_AFTER_S - 1) is None
    assert watch.sees(WAITING, 1) is WHY
    assert (watch.sees(WAITING, STILL_AFTER_S - 1), watch.asked) == (WHY, 1)
    assert (watch.sees(WAITING, 1), watch.asked) == (WHY, 2)
    assert watch.sees(ADVANCED, 1) is None
    assert watch.sees(ADVANCED, STILL_AFTER_S - 1) is None
    assert watch.sees(ADVANCED, 1) is WHY


def test_while_a_job_runs_no_reason_is_given() -> None:
    watch = Watch(why=None)
    watch.sees(WAITING)
    assert watch.sees(WAITING, STILL_AFTER_S) is None
    watch.why = WHY
    assert watch.sees(WAITING, STILL_AFTER_S) is WHY


def test_a_paused_submission_is_not_explained_again() -> None:
    watch = Watch()
    watch.sees(PAUSED)
    assert (watch.sees(PAUSED, 2 * STILL_AFTER_S), watch.asked) == (None, 0)


def test_each_reason_is_news_once() -> None:
    standstill = Watch().standstill
    other = replace(WHY, because="c/2 waits for 1 parent", key="2")
    alone = replace(WHY, waits_for=())
    assert [standstill.is_news(why) for why in (WHY, other, replace(WHY, waits_for=(ROOT,)), WHY)] == [
        True,
        False,
        True,
        False,
    ]
    assert [standstill.is_news(why) for why in (alone, alone, replace(alone, because="c/2"))] == [
        True,
        False,
        True,
    ]


def test_a_reason_names_the_job_that_is_nearest_to_the_cause() -> None:
    assert in_brief(WHY) == "c/1 waits for 1 parent: b/1, which is ready."
    far = replace(WHY, waits_for=(PARENT, ROOT))
    assert in_brief(far) == "c/1 waits for 1 parent, ultimately for a/1, which is ready."
    assert in_brief(replace(WHY, waits_for=())) == "c/1 waits for 1 parent."


def test_the_reason_is_below_the_bars() -> None:
    picture = draw(WAITING, {}, 80, "c/1 waits for 1 parent.")
    assert [str(line) for line in picture.renderables][1:] == ["c/1 waits for 1 parent."]  # type: ignore[attr-defined] # a group of lines


@pytest.fixture
def stuck(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return a ledger with a submission that waits for a worker, and commands that soon give the reason."""
    monkeypatch.setattr(follow, "STILL_AFTER_S", 0.0)
    monkeypatch.setattr(follow, "LINES_EVERY_S", 0.01)
    site.chain("a -> b -> c")
    site.world.submit("c", id="nightly")
    site.dismiss()
    return site


def test_a_waiting_command_gives_the_reason_once_and_ends_after_the_timeout(
    stuck: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["submit", "c", "1", "--id", "nightly", "--wait-timeout", "500ms"]) == 124
    said = capfd.readouterr()
    assert said.out == ""
    written = re.sub(r" \(the last worker that did, .*? ago\)", "", said.err).splitlines()[1:]
    assert len(written) == 4
    assert "\n".join(written) in PAGE
    assert stuck.says("submissions", "nightly")["state"] == "active"


def test_with_json_only_the_document_is_on_stdout(stuck: Site, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["submit", "c", "1", "--id", "nightly", "--wait", "--wait-timeout", "500ms", "--json"]
    assert main(words) == 124
    said = capfd.readouterr()
    document = json.loads(said.out)
    assert (document["state"], document["wait_timed_out"]) == ("active", True)
    assert "ultimately for a/1" in said.err


def test_while_a_job_of_the_submission_runs_nothing_is_explained(
    site: Site, stuck: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    stuck.hire(queues=[], threads=1)
    stuck.world.claim("a")
    assert main(["submit", "c", "1", "--id", "nightly", "--wait-timeout", "200ms"]) == 124
    assert "waits for" not in capfd.readouterr().err


def test_run_stops_working_after_the_timeout(desk: Typist) -> None:
    words = ("run", "nap", "0", "--start-after", "2100-01-01", "--push", "wanted", "--wait-timeout", "300ms")
    said = desk.types(*words, "--json")
    assert (said.code, said.document["wait_timed_out"]) == (124, True)
    desk.asks("cancel", said.document["submission"])
    assert "--wait-timeout" in desk.types("run", "nap", "0", "--bypass", "--wait-timeout", "1s").err
