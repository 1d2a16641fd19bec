"""Dependencies in Python, and the ``depends_on`` and ``dependencies`` that they are converted to."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from sluice import any_of, app, retry
from sluice.jobs.catalogue import load
from sluice.jobs.catalogue.errors import At, DefinitionFaults
from sluice.jobs.catalogue.sources.python_options import declarative
from sluice.jobs.errors import DefinitionError


@app
def fetch(day: date, shop: str) -> None: ...


@app(name="the.stock")
def stock(day: date) -> None: ...


def _converted(**options: Any) -> dict[str, object]:
    faults = DefinitionFaults()
    found = declarative(options, At(faults, "a.py", "f"))
    faults.raise_any()
    return found


def _fault(**options: Any) -> str:
    with pytest.raises(DefinitionError) as raised:
        _converted(**options)
    (fault,) = raised.value.faults
    return fault.what


@pytest.mark.parametrize(
    ("needs", "depends_on"),
    [
        ([], None),
        ([fetch], {"default": [{"app_name": ["fetch"]}]}),
        (["fetch", stock], {"default": [{"app_name": ["fetch"]}, {"app_name": ["the.stock"]}]}),
        ([fetch.all("shop")], {"default": [{"app_name": ["fetch"], "shop": "all"}]}),
        (
            [fetch.where(shop="graz", day=[date(2026, 1, 1)])],
            {"default": [{"app_name": ["fetch"], "shop": ["graz"], "day": [date(2026, 1, 1)]}]},
        ),
        ([stock.when("failed")], {"default": [{"app_name": ["the.stock"], "when": "failed"}]}),
        ([stock.max_lag("6h")], {"default": [{"app_name": ["the.stock"], "max_lag": "6h"}]}),
        ([stock.max_lag(90)], {"default": [{"app_name": ["the.stock"], "max_lag": "90s"}]}),
        (
            [fetch.all("shop").max_lag(timedelta(hours=6))],
            {"default": [{"app_name": ["fetch"], "shop": "all", "max_lag": "21600s"}]},
        ),
        (
            [any_of(fetch.all("shop"), stock)],
            {
                "fetch": [{"app_name": ["fetch"], "shop": "all"}],
                "the.stock": [{"app_name": ["the.stock"]}],
            },
        ),
        (
            [stock, any_of([fetch.where(shop="a"), "x"], fetch.where(shop="b"), fetch.where(shop="c"))],
            {
                "fetch+x": [
                    {"app_name": ["the.stock"]},
                    {"app_name": ["fetch"], "shop": ["a"]},
                    {"app_name": ["x"]},
                ],
                "fetch": [{"app_name": ["the.stock"]}, {"app_name": ["fetch"], "shop": ["b"]}],
                "fetch-2": [{"app_name": ["the.stock"]}, {"app_name": ["fetch"], "shop": ["c"]}],
            },
        ),
    ],
)
def test_needs_are_converted_to_depends_on(needs: list[Any], depends_on: object) -> None:
    assert _converted(needs=needs).get("depends_on") == depends_on


def test_needs_of_an_app_with_chunks_are_converted_to_dependencies() -> None:
    assert _converted(chunk_size=5, needs=[stock.max_lag("6h")]) == {
        "chunk_size": 5,
        "dependencies": [{"job_type": "the.stock", "max_lag": "6h"}],
    }


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"needs": fetch}, "needs: 'fetch' is not a list of dependencies"),
        ({"needs": [3]}, "needs: 3 is no dependency"),
        (
            {"needs": [fetch], "depends_on": {}},
            "needs: depends_on is the same in another form; write only one",
        ),
        (
            {"needs": [fetch.all("x").max_lag(0)], "chunk_size": 1},
            "needs: fetch: an app with chunk_size needs",
        ),
        ({"needs": [fetch], "chunk_size": 1}, "needs: fetch: it has no max_lag"),
        (
            {"needs": [any_of(fetch, stock)], "chunk_size": 1},
            "needs: an app with chunk_size has no alternatives",
        ),
        (
            {"needs": [any_of(*"abcdefghijk"), any_of(*"abcdefghijk")]},
            "needs: its alternatives have more than 100",
        ),
    ],
)
def test_needs_that_cannot_be_converted_are_a_fault(options: dict[str, Any], what: str) -> None:
    assert _fault(**options).startswith(what)


def test_alternatives_are_at_least_two() -> None:
    with pytest.raises(ValueError, match="at least two"):
        any_of(fetch)


def test_values_of_python_are_converted_to_values_of_files() -> None:
    assert _converted(
        timeout=timedelta(minutes=5),
        start_after=datetime(2026, 1, 1, tzinfo=UTC),
        retry=retry.exponential(seconds=1, max_seconds=60, jitter=True),
        identifiers={"day": date, "n": int},
        compensate=stock,
        depends_on={"app_name": [fetch, stock]},
        never_retry=[KeyError],
    ) == {
        "timeout": "300s",
        "start_after": "2026-01-01T00:00:00+00:00",
        "retry": {"rule": "exponential", "seconds": 1.0, "max_seconds": 60.0, "jitter": True},
        "identifiers": {"day": "date", "n": "int"},
        "compensate": "the.stock",
        "depends_on": {"app_name": ["fetch", "the.stock"]},
        "never_retry": ["builtins.KeyError"],
    }


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (timedelta(milliseconds=1500), "1.5s"),
        (timedelta(microseconds=1), "0.000001s"),
        (timedelta(days=1), "86400s"),
    ],
)
def test_a_fraction_of_a_second_stays(span: timedelta, text: str) -> None:
    assert _converted(timeout=span)["timeout"] == text


def test_a_naive_time_is_refused() -> None:
    naive = datetime(2026, 1, 1)  # noqa: DTZ001  # It has no time zone on purpose.
    assert (
        _fault(end_before=naive) == f"end_before: {naive!r} has no time zone; write datetime(…, tzinfo=UTC)"
    )


def test_a_negative_duration_is_refused() -> None:
    assert _fault(timeout=timedelta(-1)).endswith("is negative, which is no duration")


def test_a_definition_in_python_has_the_digest_of_the_same_one_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = """
        from sluice import any_of, app

        @app(job_id="{day}")
        def a(day): ...

        @app(job_id="{day}")
        def b(day): ...

        @app(job_id="{day}", needs=[any_of(a.max_lag("6h"), b.when("failed"))], max_fails=2)
        def c(day): ...
    """
    Path("a.py").write_text(dedent(text))
    Path("b.yaml").write_text(
        dedent("""
        a: {job_type: python, job_id: "{day}", function: "a.py:a"}
        b: {job_type: python, job_id: "{day}", function: "a.py:b"}
        c:
          job_id: "{day}"
          function: a.py:c
          depends_on:
            a: [{app_name: [a], max_lag: 6h}]
            b: [{app_name: [b], when: failed}]
    """)
    )
    assert {app.digest for app in load(["a.py"]).values()} == {
        app.digest for app in load(["b.yaml"]).values()
    }
