"""Definitions that follow from the signature of a function, and the arguments that it receives."""

from datetime import UTC, date, datetime
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from sluice import Job, app, each
from sluice.jobs.catalogue import load
from sluice.jobs.errors import DefinitionError
from sluice.jobs.model.app import App
from sluice.jobs.model.job import Outcome
from sluice.testing import run

pytestmark = pytest.mark.usefixtures("here")

HEAD = """
from __future__ import annotations
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Literal
import sluice
from sluice import Job, app, each, retry
"""


def _written(text: str) -> str:
    Path("a.py").write_text(HEAD + dedent(text))
    return "a.py"


def _app(text: str, name: str = "f", **options: Any) -> App:
    return load([_written(text)], **options)[name]


def _faults(text: str, **options: Any) -> list[str]:
    with pytest.raises(DefinitionError) as raised:
        load([_written(text)], **options)
    return [fault.what for fault in raised.value.faults]


def _run(text: str, key: str, **kwargs: Any) -> Outcome:
    return run(_written(text), "f", key, **kwargs)


class TestKeys:
    def test_the_parameters_are_the_identifiers(self) -> None:
        f = _app('@app\ndef f(day: date, n: int, shop: str = each(["graz", "oslo"])): ...')
        assert f.template.text == "{day}_{n}_{shop}"
        assert {name: str(f.kind(name)) for name in f.template.names} == {
            "day": "date",
            "n": "int",
            "shop": "str",
        }
        assert {name: [*values] for name, values in f.autofill.items()} == {"shop": ["graz", "oslo"]}

    def test_it_has_the_digest_of_the_same_definition_with_options(self) -> None:
        short = _app('@app\ndef f(day: date, shop: str = each(["graz"])): ...')
        Path("options.json").write_text(
            '{"f": {"job_type": "python", "function": "a.py:f", "job_id": "{day}_{shop}",'
            ' "identifiers": {"day": "date", "shop": "str"}, "autofill_values": {"shop": ["graz"]}}}'
        )
        assert load(["options.json"])["f"].digest == short.digest

    def test_an_app_without_identifiers_has_one_job_with_an_empty_key(self) -> None:
        f = _app("@app\ndef f(job: Job, *, force: bool = False): ...")
        assert f.template.names == ()
        assert f.write_key(f.read_key("")) == ""
        with pytest.raises(ValueError, match="its only key is empty"):
            f.template.split("x")

    def test_a_file_defines_such_an_app_with_an_empty_template(self) -> None:
        Path("a.json").write_text('{"f": {"bash_cmd": "true", "job_id": ""}}')
        assert load(["a.json"])["f"].template.names == ()

    def test_a_written_template_is_used_with_the_types_of_the_signature(self) -> None:
        f = _app('@app(job_id="{shop}_{day}")\ndef f(day: date, shop): ...')
        assert (f.template.text, str(f.kind("day")), str(f.kind("shop"))) == ("{shop}_{day}", "date", "str")

    def test_the_default_of_the_source_is_used_before_the_signature(self) -> None:
        text = 'default_job_id = "{shop}_{day}"\n@app\ndef f(day: date, shop): ...'
        assert _app(text).template.text == "{shop}_{day}"

    def test_the_delimiter_of_the_installation_is_used(self) -> None:
        assert _app("@app\ndef f(day: date, n: int): ...", delimiter="-").template.text == "{day}-{n}"

    def test_literals_and_enumerations_list_the_allowed_values(self) -> None:
        text = """
            class Shop(StrEnum):
                GRAZ = "graz"
                OSLO = "oslo"

            @app
            def f(shop: Shop, n: Annotated[Literal[1, 2], "few"]): ...
        """
        f = _app(text)
        assert (str(f.kind("shop")), str(f.kind("n"))) == ("one of graz, oslo", "one of 1, 2")

    @pytest.mark.parametrize(
        ("values", "found"),
        [
            ("range(0, 6, 2)", [0, 2, 4]),
            ('"3:5"', [3, 4]),
            ("(7, 8)", [7, 8]),
            ("range(3, 0, -1)", [3, 2, 1]),
        ],
    )
    def test_each_accepts_ranges(self, values: str, found: list[int]) -> None:
        assert [*_app(f"@app\ndef f(n: int = each({values})): ...").autofill["n"]] == found


class TestFaults:
    @pytest.mark.parametrize(
        ("text", "what"),
        [
            (
                "@app\ndef f(day: datetime): ...",
                (
                    "parameter day: datetime is no type of an identifier; use str, int, date or a Literal, or make the"
                    " parameter keyword-only, so that it receives a kwarg"
                ),
            ),
            (
                "@app\ndef f(day: date, force=False): ...",
                (
                    "parameter force: it is an identifier of the key, which has no default; write each([…]) for its"
                    " values, or make it keyword-only, so that it receives a kwarg"
                ),
            ),
            (
                '@app(job_id="{date}")\ndef f(job: Job, dat): ...',
                "parameter dat: the key has no such identifier (did you mean date?)",
            ),
            (
                '@app(job_id="{day}")\ndef f(day: date, *, shop: str = each(["graz"])): ...',
                "parameter shop: only an identifier of the key has the values of each(…)",
            ),
            (
                '@app(identifiers={"n": "int"})\ndef f(n: str): ...',
                "identifiers: n is 'int' here and 'str' in the function's signature; write it only there",
            ),
            (
                '@app(autofill_values={"n": [1]})\ndef f(n: int = each([2])): ...',
                "autofill_values: n is [1] here and [2] in the function's signature; write it only there",
            ),
        ],
    )
    def test_a_fault_names_the_parameter(self, text: str, what: str) -> None:
        assert _faults(text) == [what]

    def test_a_list_of_values_fits_the_annotated_type_of_its_values(self) -> None:
        assert str(_app('@app(identifiers={"n": [1, 2]})\ndef f(n: int): ...').kind("n")) == "one of 1, 2"


class TestArguments:
    def test_the_annotated_parameter_receives_the_job(self) -> None:
        outcome = _run('@app\ndef f(this: Job, n: int): this.log.info("%s %s", this.key, n)', "7")
        assert outcome.output.endswith("INFO 7 7\n")

    def test_a_job_that_is_imported_for_type_checkers_only_is_found_by_its_name(self) -> None:
        text = """
            @app
            def f(this: "elsewhere.Job"): this.log.info("found")
        """
        assert _run(text, "").output.endswith("found\n")

    def test_a_date_is_a_date(self) -> None:
        text = """
            @app
            def f(job: Job, day: date): job.log.info("%s %s", day.year, job.ids["day"] - day)
        """
        assert _run(text, "2026-11-20").output.endswith("INFO 2026 0:00:00\n")

    def test_an_isolated_function_receives_a_date_too(self) -> None:
        text = """
            @app(isolate=True)
            def f(day: date): print(day.isoformat())
        """
        assert _run(text, "20261120").output == "2026-11-20\n"

    def test_an_enumeration_is_a_member(self) -> None:
        text = """
            class Shop(StrEnum):
                GRAZ = "graz"

            @app
            def f(job: Job, shop: Shop): job.log.info(shop.name)
        """
        assert _run(text, "graz").output.endswith("GRAZ\n")

    def test_a_kwarg_is_converted_to_its_annotated_type(self) -> None:
        text = """
            @app
            def f(job: Job, *, since: datetime, days: list[date]):
                job.log.info("%s %s", since.year, days[0].month)
        """
        outcome = _run(text, "", since="2026-11-20T00:00:00Z", days=["2026-03-01"])
        assert outcome.output.endswith("INFO 2026 3\n")

    def test_a_kwarg_of_the_wrong_type_fails_the_job(self) -> None:
        outcome = _run("@app\ndef f(*, pieces: int): ...", "", pieces="two")
        assert outcome.error == "The kwarg pieces does not fit its type: Expected `int`, got `str`."

    def test_a_kwarg_of_a_type_that_json_cannot_express_is_passed_as_it_is(self) -> None:
        text = """
            class Own: ...

            @app
            def f(job: Job, *, own: Own): job.log.info(own)
        """
        assert _run(text, "", own="text").output.endswith("INFO text\n")


class TestErrors:
    @pytest.mark.parametrize(
        ("options", "raised", "final"),
        [
            ("retry_on=[ConnectionError]", "TimeoutError", True),
            ("retry_on=[ConnectionError]", "ConnectionResetError", False),
            ('retry_on=["ConnectionError"]', "ConnectionError", False),
            ("never_retry=[LookupError]", "KeyError", True),
            ("never_retry=[LookupError]", "ValueError", False),
            ("retry_on=[OSError], never_retry=[FileNotFoundError]", "FileNotFoundError", True),
            ("retry_on=[Own]", "Own", False),
            ("never_retry=[Own], isolate=True", "Own", True),
        ],
    )
    def test_the_class_of_an_error_decides_whether_it_is_retried(
        self, options: str, raised: str, final: bool
    ) -> None:
        text = f"""
            class Own(Exception): ...

            @app(max_fails=3, {options})
            def f(): raise {raised}("no")
        """
        outcome = _run(text, "")
        assert raised in str(outcome.error)
        assert outcome.final is final

    def test_only_functions_have_classes_of_errors(self) -> None:
        Path("a.json").write_text('{"f": {"job_id": "{n}", "bash_cmd": "true", "retry_on": ["OSError"]}}')
        with pytest.raises(DefinitionError, match="an app of job_type bash has no retry_on"):
            load(["a.json"])


class TestRequests:
    def test_the_arguments_of_the_function_make_a_key_and_kwargs(self) -> None:
        @app
        def f(day: date, shop: str = each(["graz"]), *, since: datetime | None = None) -> int:
            return 1

        request = f.job(date(2026, 11, 20), shop="graz", since=datetime(2026, 1, 1, tzinfo=UTC))
        assert (request.app, request.key, request.kwargs) == (
            "f",
            "20261120_graz",
            {"since": "2026-01-01T00:00:00Z"},
        )
        assert request.decode is int

    def test_a_written_template_orders_the_identifiers(self) -> None:
        @app(job_id="{shop}-{n}")
        def f(n: int, shop: str) -> None: ...

        assert f.job(1, "graz").key == "graz-1"

    def test_the_job_is_no_argument_of_a_request(self) -> None:
        @app
        def f(job: Job, n: int) -> None: ...

        assert f.job(3).key == "3"

    @pytest.mark.parametrize(
        ("args", "kwargs", "what"),
        [
            ((), {}, r"f.job\(\) needs n"),
            ((1, 2), {}, "takes 1 positional"),
            ((1,), {"n": 1}, "two values for n"),
            ((1,), {"m": 1}, "no argument m"),
        ],
    )
    def test_arguments_that_do_not_fit_are_refused(self, args: Any, kwargs: Any, what: str) -> None:
        @app
        def f(n: int) -> None: ...

        with pytest.raises(TypeError, match=what):
            f.job(*args, **kwargs)

    def test_the_definition_can_be_called_like_its_function(self) -> None:
        @app
        def f(n: int) -> int:
            return 2 * n

        assert f(4) == 8


class TestSeveralFiles:
    def test_a_file_needs_a_function_that_it_imports_from_another_file(self) -> None:
        Path("pipeline").mkdir()
        Path("pipeline/first.py").write_text("from sluice import app\n\n@app\ndef one(n: int): ...\n")
        Path("pipeline/second.py").write_text(
            "from sluice import app\nfrom first import one\n\n@app(needs=[one])\ndef two(n: int): ...\n"
        )
        catalogue = load(["pipeline"])
        assert {*catalogue} == {"one", "two"}
        assert [*catalogue["two"].parent_apps] == ["one"]

    def test_two_functions_of_one_name_are_a_fault(self) -> None:
        for name in ("first.py", "second.py"):
            Path(name).write_text("from sluice import app\n\n@app\ndef one(n: int): ...\n")
        with pytest.raises(DefinitionError, match=r"one: it is defined in first\.py already"):
            load(["first.py", "second.py"])
