"""Scripts of sagas and their expected results. Each row is one flight. ``tests.scripted`` describes the words of a
script.
"""

from collections.abc import Mapping
from typing import Any

from sluice.jobs.states import State
from tests.ops.airfield import Script

_FOO = {"abc": "foo"}
_PUT = {"do 0": _FOO}
_TWICE = ["retry", "retry"]


def _undone(calls: str, error: str = "as it is written", **words: Any) -> Script:
    return Script(calls=calls, state=State.FAILED, error=error, **words)


def _stuck(calls: str, **words: Any) -> Script:
    return Script(calls=calls, state=State.FATAL, error="as it is written", **words)


def _fails(*calls: str, **script: Any) -> dict[str, Any]:
    """Return a script in which these calls fail permanently."""
    return {**script, "answers": {call: ["fatal"] for call in calls} | script.get("answers", {})}


#: Flights that lose no worker.
IN_PEACE: Mapping[str, Script] = {
    "all-goes-well": Script(calls="d0 d1 d2"),
    "no-steps": Script(calls="", script={"steps": 0}),
    "as-many-steps-as-were-asked-for": Script(calls="d0 d1 d2 d3 d4", script={"steps": 5}),
    "what-a-failed-do-has-put-is-there-for-its-undo": _undone(
        "d0 u0",
        script=_fails("do 0", puts={"do 0": {"key": "foo"}, "undo 0": {"key": "xyz"}}),
        found=[{}, {"key": "foo"}],
        working={"key": "xyz"},
    ),
    "a-do-raises": _undone("d0 d1 u1 u0", "x", script={"answers": {"do 1": ["raise: x"]}}),
    "a-do-exits": _undone("d0 d1 u1 u0", "gone", script={"answers": {"do 1": ["exit: gone"]}}),
    "a-do-has-no-memory-left": _undone("d0 u0", "none", script={"answers": {"do 0": ["raise memory: none"]}}),
    "a-do-answers-nonsense": _undone(
        "d0 u0", "17, which is no answer", script={"answers": {"do 0": ["odd"]}}
    ),
    "the-last-undo-fails": _stuck("d0 d1 u1 u0", script=_fails("do 1", "undo 0")),
    "the-first-undo-fails": _stuck("d0 d1 d2 u2", script=_fails("do 2", "undo 2")),
    "an-undo-answers-nonsense": _stuck("d0 u0", script=_fails("do 0", answers={"undo 0": ["odd"]})),
    "an-undo-exits": _stuck("d0 d1 u1", script=_fails("do 1", answers={"undo 1": ["exit"]})),
    "an-undo-is-tried-again": _undone(
        "d0 u0 u0 u0", script=_fails("do 0", answers={"undo 0": _TWICE}, rule=[0, 2])
    ),
    "an-undo-is-tried-in-vain": _stuck(
        "d0 u0 u0 u0", script=_fails("do 0", answers={"undo 0": ["retry"] * 9}, rule=[0, 2])
    ),
    "the-last-try-says-why": _undone(
        "d0 d0 d0 d0 u0",
        "e4 (tried 4 times)",
        script={"answers": {"do 0": ["retry: e1", "retry: e2", "retry: e3", "retry: e4"]}, "rule": [0, 3]},
    ),
    "a-do-raises-a-retry": Script(
        calls="d0 d0 d0 d1 d2", script={"answers": {"do 0": ["raise retry", "raise retry"]}, "rule": [0, 3]}
    ),
    "no-rule-no-second-try": _undone(
        "d0 u0", "busy", script={"answers": {"do 0": ["retry"]}, "rule": "none"}
    ),
    "between-two-tries-the-map-stays": Script(
        calls="d0 d0",
        script={"steps": 1, "answers": {"do 0": ["retry"]}, "puts": _PUT, "rule": [0.1, 1]},
        found=[{}, _FOO],
        working=_FOO,
    ),
    # These flights share one rule object. It counts the tries of each flight and of each step separately.
    **{
        f"a-rule-of-many-{n}": Script(
            calls="d0 d0 d0 d1 d1 d1 d2", script={"answers": {"do 0": _TWICE, "do 1": _TWICE}, "rule": [0, 2]}
        )
        for n in range(3)
    },
    "an-undo-has-tries-of-its-own": _undone(
        "d0 d0 u0 u0", "busy", script={"answers": {"do 0": _TWICE, "undo 0": ["retry"]}, "rule": [0, 1]}
    ),
    "a-loop": Script(calls="d0 d0 d0 d0 d1 d2", script={"answers": {"do 0": ["rerun"] * 3}}),
    "a-loop-there-and-back": _undone(
        "d0 d0 d0 u0 u0 u0",
        script={"answers": {"do 0": ["rerun", "rerun", "fatal"], "undo 0": ["rerun", "rerun"]}},
    ),
    "a-stop": Script(
        calls="d0 d1 d2",
        script={"answers": {"do 1": ["stop"]}, "puts": {"do 0": {"a": 1}, "do 2": {"b": 2}}},
        working={"a": 1, "b": 2},
    ),
    "a-stop-on-the-way-back": _undone(
        "d0 d1 d2 u2 u1 u0", script=_fails("do 2", answers={"undo 1": ["stop"]})
    ),
}

#: Flights with debug options: steps that count as failed although they have run, and a new claim for each step.
ASKED: Mapping[str, Script] = {
    "at-a-step": _undone("d0 d1 u1 u0", "injected by debug", debug={"fail_at": {"1": "fatal"}}),
    "at-a-step-once": Script(calls="d0 d1 d1 d2", script={"rule": [0, 1]}, debug={"fail_at": {"1": "retry"}}),
    "a-do-by-its-name": Script(
        calls="d0 d1 d1 d2", script={"rule": [0, 1]}, debug={"fail_do": {"Step1": "retry"}}
    ),
    "an-undo-by-its-name": _undone(
        "d0 d1 d2 u2 u2 u1 u0",
        "injected by debug",
        script={"rule": [0, 1]},
        debug={"fail_undo": {"Step2": "retry"}, "fail_last": True},
    ),
    "the-last": _undone("d0 d1 d2 u2 u1 u0", "injected by debug", debug={"fail_last": True}),
    "each-step-anew": Script(
        calls="d0 d1 d2", script={"puts": _PUT}, debug={"restart_each_step": True}, working=_FOO
    ),
    "a-loop-anew": Script(
        calls="d0 d0 d0 d0 d0 d1 d2",
        script={"answers": {"do 0": ["rerun"] * 4}},
        debug={"restart_each_step": True},
    ),
    "each-undo-anew": _undone("d0 d1 d2 u2 u1 u0", script=_fails("do 2"), debug={"restart_each_step": True}),
    "a-loop-back-anew": _undone(
        "d0 d1 u1 u1 u1 u0",
        script=_fails("do 1", answers={"undo 1": ["rerun", "rerun"]}),
        debug={"restart_each_step": True},
    ),
}

#: Flights with a worker that is killed, and so loses everything that it has not written to the journal.
KILLED: Mapping[str, Script] = {
    "before-anything": Script(calls="d0 d1 d2", script={"dies": "taken up"}),
    "in-the-first-do": Script(
        calls="d0 d0 d1 d2",
        script={"puts": _PUT, "dies": "in do 0"},
        found=[{}, {}, _FOO, _FOO],
        working=_FOO,
    ),
    # The submission sets the number of steps, which is the same after the next claim.
    "between-two-dos": Script(
        calls="d0 d1 d2 d3",
        script={"steps": 4, "puts": _PUT, "dies": "before do 1"},
        found=[{}, _FOO, _FOO, _FOO],
        working=_FOO,
    ),
    "in-a-later-do": Script(
        calls="d0 d1 d1 d2",
        script={"puts": _PUT | {"do 1": {"abc": "bar"}}, "dies": "in do 1"},
        found=[{}, _FOO, _FOO, {"abc": "bar"}],
        working={"abc": "bar"},
    ),
    "in-an-undo": _undone(
        "d0 u0 u0",
        script=_fails("do 0", puts=_PUT | {"undo 0": {"abc": "xyz"}}, dies="in undo 0"),
        found=[{}, _FOO, _FOO],
        working={"abc": "xyz"},
    ),
    "before-its-failure-is-known": _undone(
        "d0 d0 u0",
        script={"answers": {"do 0": ["fatal", "fatal"]}, "puts": _PUT, "dies": "behind do 0: fatal"},
        found=[{}, {}, _FOO],
        working=_FOO,
    ),
    "right-behind-the-turn": _undone(
        "d0 d1 u1 u0",
        script=_fails("do 1", puts={"do 1": _FOO}, dies="before undo 1"),
        found=[{}, {}, _FOO, _FOO],
        working=_FOO,
    ),
    "and-its-tries-are-counted-anew": Script(
        calls=" ".join(["d0"] * 21 + ["d1 d2"]),
        script={
            "answers": {"do 0": ["retry"] * 9 + ["success"] + ["retry"] * 10},
            "rule": [0, 10],
            "dies": "in do 0 time 10",
        },
    ),
    "while-it-waits-for-its-retry": Script(
        calls="d0 d0 d1 d2",
        script={"answers": {"do 0": ["retry"]}, "puts": _PUT, "dies": "while do 0 waits for its retry"},
        found=[{}, {}, _FOO, _FOO],
        working=_FOO,
    ),
    "again-and-again": Script(calls="d0 d0 d0 d0 d1 d2", script={"dies": "in do 0", "deaths": 3}),
    "in-a-loop": Script(
        calls="d0 d0 d0 d0 d1 d2", script={"answers": {"do 0": ["rerun"] * 3}, "dies": "in do 0 time 3"}
    ),
    "all-done": Script(calls="d0 d1 d2", script={"dies": "landed: succeeded"}),
    "all-undone": _undone("d0 d1 u1 u0", script=_fails("do 1", dies="landed: undone")),
    "stuck": _stuck(
        "d0 d1 u1 u1",
        script={"answers": {"do 1": ["fatal"], "undo 1": ["fatal"] * 2}, "dies": "landed: undo_failed"},
    ),
}

#: Flights that wait until they are resumed.
WAITING: Mapping[str, Script] = {
    "waits": Script(calls="d0 d1 d2", script={"answers": {"do 1": ["wait"]}}),
    "waits-though-its-worker-dies": Script(
        calls="d0 d1 d2", script={"answers": {"do 1": ["wait"]}, "dies": "landed: suspended"}
    ),
    "waits-at-the-end": Script(calls="d0 d1 d2", script={"answers": {"do 2": ["wait"]}}),
    "waits-on-the-way-back": _undone("d0 d1 u1 u0", script=_fails("do 1", answers={"undo 1": ["wait"]})),
}

#: Flights with a worker that is stopped, and the calls that have begun by then. If the last of them had not ended, the
#: next worker calls it again.
LEFT: Mapping[str, tuple[str, Script]] = {
    "in-a-do": (
        "d0 d1",
        Script(
            calls="d0 d1 d2",
            script={"lingers": "do 1", "puts": _PUT | {"do 1": {"abc": "bar"}}},
            found=[{}, _FOO, {"abc": "bar"}],
            working={"abc": "bar"},
        ),
    ),
    "in-the-last-do": ("d0 d1 d2", Script(calls="d0 d1 d2", script={"lingers": "do 2"})),
    "in-a-do-that-fails": (
        "d0 d1",
        _undone(
            "d0 d1 u1 u0",
            script=_fails("do 1", lingers="do 1", puts={"do 1": _FOO}),
            found=[{}, {}, _FOO, _FOO],
            working=_FOO,
        ),
    ),
    # The step has no retry rule but is called again, because a worker that leaves must not cause an undo.
    "in-a-do-that-is-retried": (
        "d0 d1",
        Script(
            calls="d0 d1 d1 d2", script={"lingers": "do 1", "rule": "none", "answers": {"do 1": ["retry"]}}
        ),
    ),
    "in-the-first-pass-of-a-loop": (
        "d0 d1",
        Script(calls="d0 d1 d1 d2", script={"lingers": "do 1", "answers": {"do 1": ["rerun"]}}),
    ),
    "in-the-last-pass-of-a-loop": (
        "d0 d1 d1",
        Script(calls="d0 d1 d1 d2", script={"lingers": "do 1 time 2", "answers": {"do 1": ["rerun"]}}),
    ),
    "in-an-undo": ("d0 d1 d2 u2", _undone("d0 d1 d2 u2 u1 u0", script=_fails("do 2", lingers="undo 2"))),
    "in-the-last-undo": ("d0 u0", _undone("d0 u0", script=_fails("do 0", lingers="undo 0"))),
    "in-an-undo-that-is-retried": (
        "d0 d1 u1",
        _undone(
            "d0 d1 u1 u1 u0",
            script=_fails("do 1", lingers="undo 1", rule="none", answers={"undo 1": ["retry"]}),
        ),
    ),
    "in-a-do-that-does-not-end": ("d0 d1", Script(calls="d0 d1 d1 d2", script={"hangs": "do 1"})),
    "in-a-pass-that-does-not-end": (
        "d0 d0 d0",
        Script(
            calls="d0 d0 d0 d0 d1 d2",
            script={"hangs": "do 0 time 3", "answers": {"do 0": ["rerun", "rerun"]}},
        ),
    ),
    "in-an-undo-that-does-not-end": (
        "d0 d1 u1",
        _undone("d0 d1 u1 u1 u0", script=_fails("do 1", hangs="undo 1")),
    ),
}
#: Flights that find no free thread before their worker leaves.
UNBEGUN: Mapping[str, Script] = {f"unbegun-{n}": Script(calls="d0 d1 d2") for n in range(4)}
