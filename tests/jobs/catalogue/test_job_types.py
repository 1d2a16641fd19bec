"""The options of each job type, and the apps that they result in."""

from pathlib import Path
from textwrap import dedent

import pytest

from sluice.jobs.catalogue import load
from sluice.jobs.model.program import Program
from sluice.jobs.model.spark import Spark
from sluice.jobs.policy.resource_limits import Allowance
from tests.jobs.catalogue.sources import faults, write

pytestmark = pytest.mark.usefixtures("here")

GRID = """
    class Grid:
        def run(self, job): return job.token
        def check(self, handle): return "succeeded"
        def cancel(self, handle): ...
"""


@pytest.mark.parametrize(
    "words",
    [
        'identifiers = {n = "int"}',
        'identifiers = {n = "date"}',
        'identifiers = {n = ["a", "b"]}',
        'bash_cmd = "echo {n}"',
        'bash_cmd = "echo {job_id}; (( 1 )) && [[ {n} == x ]]"',
    ],
)
def test_a_command_may_calculate_with_safe_values_and_compare_texts(words: str) -> None:
    command = "" if "bash_cmd" in words else 'bash_cmd = "(( {n} > 3 )) || let x={job_id}"\n'
    app = load([write("a.toml", f'[a]\njob_id = "{{n}}"\n{command}{words}')]).app("a")
    assert app.bash_cmd


@pytest.mark.parametrize("place", ["acme.grid", "acme/grid.py"])
def test_a_job_manager_is_found_by_module_and_by_file(place: str) -> None:
    write("acme/__init__.py", "")
    write("acme/grid.py", GRID)
    app = load([write("a.toml", f'[a]\njob_id = "{{n}}"\njob_type = "{place}:Grid"')]).app("a")
    assert app.manager is not None
    assert app.manager().check("1") == "succeeded"
    assert app.job_type == f"{place}:Grid"
    assert (app.function, app.bash_cmd, app.spark) == (None, None, None)


def test_a_decorated_class_is_a_job_manager(here: Path) -> None:
    head = 'from sluice import app\n@app(job_id="{n}", timeout="6h")'
    app = load([write("grid.py", f"{head}{dedent(GRID)}")]).app("Grid")
    assert app.manager is not None
    assert app.manager().check("1") == "succeeded"
    assert (app.job_type, app.policy.timeout_s) == (f"{here}/grid.py:Grid", 6 * 3600)
    other = load([write("a.toml", '[b]\njob_id = "{n}"\njob_type = "grid.py:Grid"')]).app("b")
    assert other.manager is not None


def test_a_decorated_class_without_the_methods_of_a_manager_is_a_fault() -> None:
    text = 'from sluice import app\n@app(job_id="{n}")\nclass Grid:\n    def run(self, job): ...\n'
    ((_, app, what),) = faults(write("grid.py", text))
    assert app == "Grid"
    assert what.endswith("grid.py:Grid is no job manager: it has no check, cancel")


def test_an_import_error_of_a_job_manager_is_reported_with_its_line() -> None:
    write("broken_grid.py", "\nimport nothing_of_that_name\n")
    ((_, _, what),) = faults(write("a.toml", '[a]\njob_id = "{n}"\njob_type = "broken_grid:Grid"'))
    assert "broken_grid.py, line 2: ModuleNotFoundError: No module named 'nothing_of_that_name'" in what


def test_a_decorated_function_cannot_have_a_job_manager() -> None:
    write("grid.py", GRID)
    text = 'from sluice import app\n@app(job_id="{n}", job_type="grid:Grid")\ndef a(n): ...\n'
    assert [what for *_, what in faults(write("a.py", text))] == [
        "an app of job_type grid:Grid has no function"
    ]


def test_a_spark_job_has_its_options_and_its_module_is_not_imported() -> None:
    write("acme/__init__.py", "raise AssertionError('it was imported')")
    write("acme/features.py", "import pyspark\nraise AssertionError('it was run')\ndef main(textFile): ...")
    source = write(
        "a.toml",
        """
        [a]
        job_id = "{date}"
        job_type = "pyspark"
        pymodule = "acme.features"
        spark_conf = { "spark.master" = "yarn" }
        uris = ["s3://jars/x.jar", "extra.py"]
        read_fp = "s3://in/{date}/*"
        write_fp = "s3://out/{app_name}/{job_id}"
        mapjson = true
        minPartitions = 8
        sample = 0.25
        env = { COLOUR = "red" }
        env_from_os = ["HOME"]
        """,
    )
    app = load([source]).app("a")
    assert (app.job_type, app.function_path, app.function) == ("pyspark", "acme.features:main", None)
    assert app.spark == Spark(
        conf={"spark.master": "yarn"},
        uris=("s3://jars/x.jar", "extra.py"),
        read_fp="s3://in/{date}/*",
        write_fp="s3://out/{app_name}/{job_id}",
        mapjson=True,
        min_partitions=8,
        sample=0.25,
    )


def test_a_decorated_function_may_be_a_spark_job(here: Path) -> None:
    head = 'from sluice import app\n@app(job_id="{n}", job_type="pyspark", read_fp="in")'
    text = f"{head}\ndef totals(textFile, n): ...\n"
    app = load([write("a.py", text)]).app("totals")
    assert (app.job_type, app.function_path) == ("pyspark", f"{here}/a.py:totals")
    assert app.spark == Spark(read_fp="in")


def test_a_program_has_its_options() -> None:
    source = write(
        "a.toml",
        f"""
        [a]
        job_id = "{{n}}"
        program = "adder-{{n}}"
        source = "https://host/{{app_name}}.tar.gz"
        input = "{{n}} {{{{x}}}}"
        sha256 = "{"Ab" * 32}"
        limits = {{ cpu = "10m" }}
        """,
    )
    app = load([source]).app("a")
    assert (app.job_type, app.bash_cmd, app.function) == ("program", None, None)
    assert app.program == Program(
        program="adder-{n}",
        source="https://host/{app_name}.tar.gz",
        input="{n} {{x}}",
        sha256="Ab" * 32,
    )
    assert (app.policy.fail_on, app.policy.limits) == ("either", Allowance(cpu_s=600.0))


@pytest.mark.parametrize(
    ("words", "job_type", "fail_on"),
    [
        ('job_type = "program"', "program", "either"),
        ('program = "p"', "program", "either"),
        ('source = "file:/x/run.sh"', "program", "either"),
        ('source = "file:/x/run.sh"\nfail_on = "exit"', "program", "exit"),
        ('bash_cmd = "true"', "bash", "exit"),
        ('function = "os.path:join"', "python", "exit"),
    ],
)
def test_an_option_of_a_program_sets_the_job_type_program(words: str, job_type: str, fail_on: str) -> None:
    app = load([write("a.toml", f'[a]\njob_id = "{{n}}"\n{words}')]).app("a")
    assert (app.job_type, app.policy.fail_on) == (job_type, fail_on)
    assert (app.program is not None) == (job_type == "program")


@pytest.mark.parametrize(
    "text", ["if True:\n  def main(sc): ...", "from m import *", "from m import x as main", "main = 1"]
)
def test_the_main_function_of_a_spark_module_may_be_bound_in_any_way(text: str) -> None:
    write("m.py", text)
    assert load([write("a.toml", '[a]\njob_id = "{n}"\njob_type = "pyspark"\npymodule = "m"')]).app("a").spark


def test_a_syntax_error_in_a_spark_module_is_reported_with_its_line() -> None:
    write("m.py", "x = 1\ndef main(:\n")
    ((_, _, what),) = faults(write("a.toml", '[a]\njob_id = "{n}"\njob_type = "pyspark"\npymodule = "m.py"'))
    assert what.startswith("pymodule: m.py, line 2: ")
