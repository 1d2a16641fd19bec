"""Notes and questions for people: repeated answers, questions before acts that cannot be undone, a missing planner."""

import io
import sys

import pytest

from sluice.ops.cli import main as command
from sluice.ops.cli.output import Output
from tests.ops.site import WORDS, Site


@pytest.fixture
def desk(site: Site) -> Site:
    site.define({"fetch": WORDS})
    site.world.submit("fetch", None, keys=["1", "2"], id="one")
    return site


def test_an_answer_is_repeated_until_it_is_interrupted(desk: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        desk.world.submit("fetch", str(len(pauses) + 2))
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(command.time, "sleep", pause)
    answers = desk.types("ls", "--watch").split("\n\n")
    assert [answer.count("fetch") for answer in answers] == [2, 3, 4]
    assert pauses == [command.WATCH_S] * 3


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("\n", 2, 2), ("", 2, 2)])
def test_a_terminal_is_asked_before_many_jobs_change(
    desk: Site, monkeypatch: pytest.MonkeyPatch, answer: str, code: int, left: int
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdin", io.StringIO(answer))
        patched.setattr(Output, "can_ask", True)
        desk.types("cancel", "--where", "app = fetch", code=code)
    assert len(desk.says("ls", "--state", "ready")) == left


@pytest.mark.parametrize("words", [("--yes",), ("-y",), ("--dry-run",)], ids=" ".join)
def test_nothing_is_asked_with_yes_or_for_a_preview(
    desk: Site, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    monkeypatch.setattr(Output, "can_ask", True)
    desk.types("cancel", "--where", "app = fetch", *words)


def test_a_submission_without_a_planner_has_a_note(
    desk: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Output, "is_interactive", True)
    assert command.main(["submit", "fetch", "7"]) == 0
    assert capfd.readouterr().err == ""
    desk.dismiss()
    assert command.main(["submit", "fetch", "8"]) == 0
    assert "No planner is running. Start `sluice up` or `sluice worker`." in capfd.readouterr().err


def test_the_text_of_a_graph_on_a_terminal_has_a_note(
    desk: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Output, "is_interactive", True)
    assert command.main(["graph", "--format", "mermaid"]) == 0
    assert capfd.readouterr().err == ""
    assert command.main(["graph"]) == 0
    assert "For a picture, add: -o graph.svg" in capfd.readouterr().err


def test_a_user_without_notes_is_asked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    output = Output()
    output.aside.is_terminal = True
    output.is_brief = True
    assert output.can_ask
    assert not output.is_interactive
