"""Selection of the work IDs of a submission: the sources, their order, and the results that are accepted."""

from collections.abc import Callable
from typing import Any

import pytest

from sluice.jobs.catalogue.work_id_selection import Selected, select
from sluice.jobs.errors import BadRequest
from sluice.jobs.keys.chunks import Chunking
from sluice.jobs.keys.template import Template
from sluice.jobs.keys.work_ids import WorkId
from sluice.jobs.model.app import App
from sluice.jobs.model.submission import Submission

Function = Callable[..., Any]


def select_of(
    selects: Function | None = None, default: Function | None = None, *, ids: Any = None, **kwargs: Any
) -> Selected:
    """Select for an app with these functions, and a submission with these IDs and kwargs."""
    chunking = Chunking(size=2, select=selects, default_ids=default)
    app = App(
        name="A", origin="a.py", job_type="python", template=Template.parse("{chunk}"), chunking=chunking
    )
    return select(app, Submission(app="A", work_ids=ids, kwargs=kwargs))


def answering(answer: Any) -> Function:
    return lambda **_: answer


def refusal(*functions: Function | None, **words: Any) -> str:
    with pytest.raises(BadRequest) as caught:
        select_of(*functions, **words)
    return f"{caught.value.what} {caught.value.advice}"


def never_called(**_: Any) -> list[int]:
    pytest.fail("this function must not be called")


@pytest.mark.parametrize(
    ("raw", "ids"),
    [
        ([3, 1, 2], (1, 2, 3)),
        ([10, 9, 8], (8, 9, 10)),
        ([1, 1, 2], (1, 2)),
        ([-2, -1, 0, 5], (-2, -1, 0, 5)),
        ([[1, 4]], (1, 2, 3, 4)),
        ([[1, 3], [7, 9], [11]], (1, 2, 3, 7, 8, 9, 11)),
        ([[3, 5], 1], (1, 3, 4, 5)),
        ("1-3,7", (1, 2, 3, 7)),
        (["b", "a", "c", "a"], ("a", "b", "c")),
        ("north,south", ("north", "south")),
        ([], ()),
        ("", ()),
    ],
)
def test_ids_may_be_named_in_every_spelling(raw: Any, ids: tuple[WorkId, ...]) -> None:
    assert select_of(never_called, never_called, ids=raw).work_ids == ids
    assert select_of(never_called, never_called, work_ids=raw, k=1) == Selected(work_ids=ids, kwargs={"k": 1})
    if isinstance(raw, list):
        assert select_of(answering(raw), never_called).work_ids == ids
        assert select_of(None, answering(raw)).work_ids == ids


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ([1.5, 2.5, 3.5], "1.5 is no work ID"),
        ([1.0], "1.0 is no work ID"),
        ([True], "True is no work ID"),
        ([None], "None is no work ID"),
        ([2**63], "does not fit into 64 bits"),
        ([[3, 1]], "ends before it begins"),
        ([[1, 10**9]], "more than 1,000,000 work IDs"),
        ([""], "'' is no work ID"),
        ([{}], "{} is no work ID"),
    ],
)
def test_an_invalid_id_is_refused_from_every_source(raw: list[Any], words: str) -> None:
    assert words in refusal(never_called, never_called, ids=raw)
    assert words in refusal(never_called, never_called, work_ids=raw)
    assert words in refusal(answering(raw))
    assert words in refusal(None, answering(raw))


@pytest.mark.parametrize("raw", [7, 1.5, True, {"a": 1}])
def test_named_ids_must_be_a_list_or_a_text(raw: Any) -> None:
    assert "The work_ids for A cannot be used" in refusal(never_called, ids=raw)


def test_ids_in_both_the_submission_and_its_kwargs_are_refused() -> None:
    assert "in its kwargs. Set them once." in refusal(never_called, ids=[1], work_ids=[1])


def test_null_work_ids_in_the_kwargs_count_as_missing() -> None:
    assert select_of(answering([5]), work_ids=None, k=1) == Selected(work_ids=(5,), kwargs={"k": 1})
    assert select_of(never_called, ids=[4], work_ids=None) == Selected(work_ids=(4,), kwargs={})


def test_an_empty_list_of_ids_is_final_too() -> None:
    assert select_of(never_called, never_called, ids=[]).work_ids == ()
    assert select_of(answering([]), never_called).work_ids == ()
    assert select_of(None, answering(([], {}))).work_ids == ()


# The app's ``select_work``.


def test_select_work_of_an_app_selects_by_the_kwargs() -> None:
    def by_region(region: str, **_: object) -> list[int]:
        return {"north": [1, 2], "south": [3]}[region]

    assert select_of(by_region, never_called, region="south", k=1) == Selected(
        work_ids=(3,), kwargs={"region": "south", "k": 1}
    )


def test_the_first_element_of_a_returned_tuple_is_the_list() -> None:
    assert select_of(answering(([5, 3, 4], "x")), k=1) == Selected(work_ids=(3, 4, 5), kwargs={"k": 1})


@pytest.mark.parametrize("answer", [{1}, None, 5, "1-3", {}, (), (5, 3, 4), ("x", [1]), range(3), iter([1])])
def test_any_other_result_of_select_work_is_refused(answer: Any) -> None:
    told = refusal(answering(answer), never_called)
    assert told.startswith("select_work of A has to return a list of work IDs")
    assert f"it returned a {type(answer).__name__}" in told


def test_whole_numbers_of_other_types_are_accepted_as_ids() -> None:
    class Whole:
        def __index__(self) -> int:
            return 7

    assert select_of(answering([Whole(), 3])).work_ids == (3, 7)


def test_an_attribute_error_in_select_work_is_reported_with_its_line() -> None:
    def broken(**_: object) -> list[int]:
        return object().ids

    told = refusal(broken, never_called)
    assert told.startswith("select_work of A failed: ")
    assert "test_selection.py, line " in told
    assert "AttributeError: 'object' object has no attribute 'ids'" in told


def test_any_exception_of_a_function_refuses_the_submission() -> None:
    def leaving(**_: object) -> list[int]:
        raise SystemExit(3)

    def missing(**_: object) -> list[int]:
        raise KeyError("k")

    assert "SystemExit: 3" in refusal(leaving)
    assert "default_work_ids of A failed: " in refusal(None, missing)
    assert "KeyError: 'k'" in refusal(None, missing)


def test_a_function_that_does_not_accept_the_kwargs_is_reported() -> None:
    told = refusal(lambda: [1], k=1)
    assert "TypeError: " in told
    assert "unexpected keyword argument 'k'" in told
    assert "line" not in told, "there is no line of the user's to show"


def test_select_work_may_be_async() -> None:
    async def select_work(k: int) -> list[int]:
        return [k]

    async def broken(**_: object) -> list[int]:
        raise ValueError("no connection")

    assert select_of(select_work, k=4).work_ids == (4,)
    assert "ValueError: no connection" in refusal(broken)


def test_select_work_cannot_change_the_kwargs_of_the_chunks() -> None:
    def greedy(**kwargs: Any) -> list[int]:
        kwargs["list"].append(2)
        return kwargs["list"]

    assert select_of(greedy, list=[1]) == Selected(work_ids=(1, 2), kwargs={"list": [1]})


# ``default_work_ids``.


def test_default_work_ids_is_used_without_other_sources() -> None:
    assert select_of(None, answering([2, 1]), k=1) == Selected(work_ids=(1, 2), kwargs={"k": 1})


def test_a_pair_from_default_work_ids_replaces_the_kwargs() -> None:
    def default(only: int) -> tuple[list[int], dict[str, object]]:
        return [1, 2, 3], {"k": only, "t": (1,), "work_ids": [9]}

    assert select_of(None, default, only=1) == Selected(work_ids=(1, 2, 3), kwargs={"k": 1, "t": [1]})


@pytest.mark.parametrize("answer", [{1}, None, ([1],), ([1], None), ([1], {}, 3), ({}, [1]), (1, 2)])
def test_any_other_result_of_default_work_ids_is_refused(answer: Any) -> None:
    assert "default_work_ids of A has to return a list of work IDs, or a pair" in refusal(
        None, answering(answer)
    )


@pytest.mark.parametrize("kwargs", [{1: 2}, {"k": {1}}, {"k": object}, {"k": "\0"}])
def test_kwargs_from_default_work_ids_must_be_storable_json(kwargs: dict[Any, Any]) -> None:
    assert "The kwargs from default_work_ids of A cannot be used" in refusal(None, answering(([1], kwargs)))


def test_a_submission_without_any_source_of_ids_is_refused_with_advice() -> None:
    told = refusal()
    assert "A has no select_work" in told
    assert "Set work_ids, give A a select_work, or its source default_work_ids." in told
