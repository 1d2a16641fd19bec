"""Which part of its module a function rests on."""

from typing import Any

import pytest

from sluice.jobs.catalogue.functions import find_object
from sluice.jobs.catalogue.module_text import text_behind
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")


def _behind(text: str, name: str = "f") -> list[str]:
    found: Any = find_object(f"{write('m.py', text)}:{name}")
    return text_behind(found).splitlines()


def test_it_is_all_that_it_names_and_what_this_names_in_turn() -> None:
    text = """\
        import os
        FAR = 1
        NEAR = {"x": FAR}
        class Base: ...
        class Step(Base):
            def do(self): return NEAR
        class Other: ...
        def f(): return [Step(), os.sep]
        """
    told = _behind(text)
    assert told == [
        "FAR = 1",
        'NEAR = {"x": FAR}',
        "class Base: ...",
        "class Step(Base):",
        "    def do(self): return NEAR",
        "def f(): return [Step(), os.sep]",
    ]


def test_its_own_decorators_are_left_out_and_those_of_others_are_not() -> None:
    text = """\
        def mark(what): return what
        @mark
        class Step: ...
        @mark
        def f(): return [Step()]
        """
    assert _behind(text) == [
        "def mark(what): return what",
        "@mark",
        "class Step: ...",
        "def f(): return [Step()]",
    ]


@pytest.mark.parametrize(
    "binding",
    [
        "try:\n    class Step: ...\nexcept ImportError:\n    Step = None",
        "Step: type = object",
        "Step, more = 1, 2",
    ],
)
def test_a_name_may_be_given_in_any_way(binding: str) -> None:
    assert _behind(f"{binding}\ndef f(): return [Step]\nlast = 1\n") == [
        *binding.splitlines(),
        "def f(): return [Step]",
    ]


@pytest.mark.parametrize("mark", ["\f", "\x1c", "\x85", "\u2028"])
def test_what_ends_no_line_of_python_moves_none(mark: str) -> None:
    text = f'NOTE = """{mark}"""\n\f\nclass Step: ...\ndef f(): return [Step]\nlast = 1\n'
    assert _behind(text) == ["class Step: ...", "def f(): return [Step]"]


def test_those_that_name_each_other_are_told_once() -> None:
    assert _behind("def f(): return g\ndef g(): return f\n") == ["def f(): return g", "def g(): return f"]


def test_a_method_rests_on_its_class() -> None:
    assert _behind("class C:\n    n = 1\n    @staticmethod\n    def f(): ...\n", "C.f") == [
        "class C:",
        "    n = 1",
        "    @staticmethod",
        "    def f(): ...",
    ]


def test_a_function_within_another_rests_on_all_of_that() -> None:
    text = "N = 1\ndef make(n):\n    def g(): return n\n    return g\nf = make(N)\n"
    assert _behind(text) == text.splitlines()[1:-1]


def test_what_has_no_text_has_none() -> None:
    assert text_behind(len) == ""
    assert text_behind(eval("lambda: 1")) == ""
