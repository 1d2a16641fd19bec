"""Measures report values above their limits."""

import pytest

from tests.style import complexity, prose
from tests.style.measures import MEASURES, Measured
from tests.style.sources import ROOT, Source

LONG = "def f():\n" + "    f()\n" * 40
#: For each measure, files that exceed its limit.
EXCEEDING = {
    "lines of a function": [Source("jobs/model/dependency.py", LONG)],
    "branches of a function": [
        Source("jobs/model/dependency.py", "def f(x):\n    return " + " or ".join("x" * 14) + "\n")
    ],
    "parameters of a function": [
        Source("jobs/model/dependency.py", "class A:\n    def f(self, a, b, c, d, e, f, *g): ...\n")
    ],
    "modules of a folder": [Source(f"jobs/gate_{number}.py", "") for number in range(19)],
    "modules named after an activity": [Source("jobs/waiting.py", "")],
    "classes with the same name": [
        Source("jobs/model/dependency.py", "class A: ...\n"),
        Source("ops/gate.py", "class A: ...\n"),
    ],
    "prose": [Source("jobs/model/dependency.py", '"""What is done by whoever comes."""\n')],
}
KEEPING = [
    Source("jobs/settings.py", '"""Settings of a job."""\n'),
    Source("jobs/model/dependency.py", "class _A: ...\n"),
    Source("ops/gate.py", "class _A: ...\n"),
]


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_reports_files_that_exceed_its_limit(name: str) -> None:
    assert Measured(EXCEEDING[name]).too_high(name)
    assert not Measured(KEEPING).too_high(name)


def test_tests_and_migrations_are_measured_by_their_prose_alone() -> None:
    for path in ("tests/test_gate.py", "ledger/schema/migrations/versions/0001.py"):
        assert not Measured([Source(path, LONG)]).too_high("lines of a function")


def test_a_complaint_names_the_measure_the_place_and_the_value() -> None:
    (found,) = Measured([Source("jobs/model/dependency.py", LONG)]).complaints()
    assert found == "lines of a function: jobs/model/dependency.py:f: 41"


@pytest.mark.parametrize(
    ("measure", "name"),
    [(measure, name) for measure, names in complexity.EXCEPTIONS.items() for name in names],
)
def test_an_exception_has_the_value_of_its_function_which_exceeds_the_limit(measure: str, name: str) -> None:
    path = name.partition(":")[0]
    function = dict(complexity.all_functions(Source(path, (ROOT / path).read_text())))[name]
    value, most = complexity.measured(function)[measure]
    assert most < value == complexity.EXCEPTIONS[measure][name][0]


def test_an_exception_may_not_grow() -> None:
    of_functions = (each for each in complexity.EXCEPTIONS["lines"].items() if each[0].count(".") == 1)
    name, (most, _) = next(of_functions)
    path, _, function = name.partition(":")
    sources = [Source(path, f"def {function}():\n" + "    f()\n" * calls) for calls in (most - 1, most)]
    assert [complexity.lines(source) for source in sources] == [{}, {name: most + 1}]


@pytest.mark.parametrize(
    ("pattern", "bad", "good"),
    [
        ("headless clause", "Return what has ended.", "Return the jobs that ended."),
        ("person", "The planner, who holds it.", "The planner, which locks it."),
        ("missing noun", "Lock those that wait.", "Lock the jobs that wait."),
        ("speaking software", "It is told by the broker.", "The broker notifies it."),
        ("existence", "If the table is there.", "If the table exists."),
        ("result", "Sums that come to ten.", "Sums of ten."),
        ("old word", "Read it anew.", "Read it again."),
        ("reason with for", "It waits, for it is early.", "It waits because it is early."),
        ("obligation with to be", "The job is to be run.", "The job must run."),
        ("metaphor", "Send a hint.", "Send a notification."),
    ],
)
def test_a_pattern_is_found(pattern: str, bad: str, good: str) -> None:
    assert [each.pattern for each in prose.matches(Source("a.py", f"# {bad}\n"))] == [pattern]
    assert [*prose.matches(Source("a.py", f"# {good}\n"))] == []


def test_fragments_are_found_at_the_beginning_of_docstrings() -> None:
    bad = 'def f():\n    """Whether a job runs."""\n'
    good = 'def f():\n    """Return whether a job runs."""\n    x = 1  # Whether a job runs.\n'
    assert [each.pattern for each in prose.matches(Source("a.py", bad))] == ["fragment"]
    assert [*prose.matches(Source("a.py", good))] == []


def test_code_and_strings_are_no_prose_and_messages_are() -> None:
    text = '''x = """
# whoever
"""
y = "SELECT what is FROM job"  # Uses ``what is`` as it stands
z = "Nobody will ever see it."
'''
    assert [each.pattern for each in prose.matches(Source("a.py", text))] == ["person"]
