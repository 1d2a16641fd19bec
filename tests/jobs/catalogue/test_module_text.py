"""The part of its module that a function depends on."""

from typing import Any

import pytest

from sluice.jobs.catalogue.resolve.source_text import text_behind
from sluice.jobs.catalogue.sources.functions import find_object
from tests.jobs.catalogue.sources import write

pytestmark = pytest.mark.usefixtures("here")


def _behind(text: str, name: str = "f") -> list[str]:
    found: Any = find_object(f"{write('m.py', text)}:{name}")
    return text_behind(found).splitlines()


def test_the_text_includes_all_names_used_directly_and_indirectly() -> None:
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


def test_the_text_excludes_only_the_decorators_of_the_function_itself() -> None:
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
def test_a_used_name_may_be_bound_in_any_way(binding: str) -> None:
    assert _behind(f"{binding}\ndef f(): return [Step]\nlast = 1\n") == [
        *binding.splitlines(),
        "def f(): return [Step]",
    ]


@pytest.mark.parametrize("mark", ["\f", "\x1c", "\x85", "\u2028"])
def test_characters_that_end_no_python_line_do_not_shift_lines(mark: str) -> None:
    text = f'NOTE = """{mark}"""\n\f\nclass Step: ...\ndef f(): return [Step]\nlast = 1\n'
    assert _behind(text) == ["class Step: ...", "def f(): return [Step]"]


def test_functions_that_use_each_other_are_included_once() -> None:
    assert _behind("def f(): return g\ndef g(): return f\n") == ["def f(): return g", "def g(): return f"]


def test_the_text_of_a_method_is_its_whole_class() -> None:
    assert _behind("class C:\n    n = 1\n    @staticmethod\n    def f(): ...\n", "C.f") == [
        "class C:",
        "    n = 1",
        "    @staticmethod",
        "    def f(): ...",
    ]


def test_the_text_of_a_nested_function_is_the_whole_outer_function() -> None:
    text = "N = 1\ndef make(n):\n    def g(): return n\n    return g\nf = make(N)\n"
    assert _behind(text) == text.splitlines()[1:-1]


def test_a_function_without_source_has_an_empty_text() -> None:
    assert text_behind(len) == ""
    assert text_behind(eval("lambda: 1")) == ""
