"""Faults in the form of a definition, in the work of an app, and in its policy."""

from tests.jobs.catalogue.faulty_apps import Fault, app
from tests.planner.definitions import DATED

#: A module of the standard library with a ``main``.
SPARK = {"job_type": "pyspark", "pymodule": "timeit"}


class Grid:
    """Job manager without behaviour. It has the methods that are checked before a job exists."""

    def run(self, job: object) -> str: ...

    def check(self, handle: str) -> str: ...

    def cancel(self, handle: str) -> None: ...


class Demanding(Grid):
    def __init__(self, address: str) -> None: ...


FAULTS_OF_WORK: dict[str, Fault] = {
    # Top level of a source.
    "a default that is no text": ({"default_job_id": 7, "a": DATED}, "default_job_id: 7 is not a text"),
    # Options.
    "an unknown word": (app(max_fail=3), "unknown option 'max_fail' (did you mean max_fails?)"),
    "an app that is no mapping": ({"a": ["echo"]}, "an app is a mapping of options; this is ['echo']"),
    "a name that starts with a digit": ({"1a": DATED}, "an app's name is a letter, then"),
    "a name that is a queue of ours": (
        {"groomer": DATED},
        "groomer is the name of one of Sluice's own queues",
    ),
    "two names of one word": (app(job_id_template="{date}"), "job_id and job_id_template are two names"),
    # Work.
    "a job type that is not there": (
        app(job_type="pyspork"),
        "job type pyspork is not available (did you mean pyspark?); there are bash,",
    ),
    "a job manager that is not there": (
        app(job_type="acme:Grid"),
        "job_type: there is no Python module 'acme'",
    ),
    "a job manager of no name": (app(job_type="acme:"), "job_type: 'acme:' is not the path of"),
    "a job manager that its module lacks": (app(job_type="os:Grid"), "job_type: os has no class 'Grid'"),
    "a job manager that is no class": (app(job_type="os.path:join"), "os.path:join is no class"),
    "a job manager without its functions": (
        app(job_type="sched:scheduler"),
        "sched:scheduler is no job manager: it has no check",
    ),
    "a command for a job manager": (
        app(job_type=f"{__name__}:Grid", bash_cmd="true"),
        f"job_type {__name__}:Grid has no bash_cmd",
    ),
    "a job manager in a process": (app(job_type=f"{__name__}:Grid", isolate=True), "has no isolate"),
    "a job manager that wants arguments": (
        app(job_type=f"{__name__}:Demanding"),
        "cannot be created without arguments",
    ),
    "a folder for a job manager": (
        app(job_type=f"{__name__}:Grid", cwd="/tmp"),
        "cwd: it runs in a thread of the worker, which cannot have one of its own; pass it to the work",
    ),
    "a placeholder that does not exist": (
        app(bash_cmd="echo {dat}"),
        "bash_cmd: there is no {dat} (did you mean date?); there are app_name, job_id, date, x",
    ),
    "a placeholder that a shell would read": (
        app(bash_cmd="echo ${date}"),
        "bash_cmd: ${date}: write {date} for the value, ${{date}} for a shell variable",
    ),
    "a single brace": (app(bash_cmd="awk '{print $1'"), "bash_cmd: a single {"),
    "a command that is no text": (app(bash_cmd=["echo"]), "bash_cmd: ['echo'] is not a command"),
    "a function for a command": (
        app(job_type="bash", function="os.path:join"),
        "job_type bash has no function",
    ),
    "a command for a function": (
        app(function="os.path:join", bash_cmd="x"),
        "job_type python has no bash_cmd",
    ),
    "no function": (app(job_type="python"), "job_type python needs its function"),
    "a function that does not exist": (app(function="os.path:joyn"), "os.path has no function 'joyn'"),
    "an environment for a thread": (
        app(function="os.path:join", env={"A": "1"}),
        "env: it runs in a thread of the worker, which cannot have one of its own; set isolate: true",
    ),
    "a folder for a thread": (app(function="os.path:join", cwd="/tmp"), "cwd: it runs in a thread"),
    # Spark.
    "a job of Spark without its module": (app(job_type="pyspark"), "job_type pyspark needs its pymodule"),
    "a module that is not there": (
        app(job_type="pyspark", pymodule="acme.features"),
        "pymodule: there is no Python module 'acme.features' here or on the path",
    ),
    "a file that is not there": (
        app(job_type="pyspark", pymodule="acme/features.py"),
        "pymodule: there is no Python file acme/features.py",
    ),
    "a module without main": (
        app(job_type="pyspark", pymodule="this"),
        "pymodule: this has no function 'main'",
    ),
    "a module that is no text": (
        app(job_type="pyspark", pymodule="sys"),
        "pymodule: there is no Python module",
    ),
    "a word of Spark for a command": (app(spark_conf={}), "an app of job_type bash has no spark_conf"),
    "a command for Spark": (app(bash_cmd="true", **SPARK), "an app of job_type pyspark has no bash_cmd"),
    "a property that is no text": (
        app(spark_conf={"spark.cores.max": 4}, **SPARK),
        "spark_conf: the value of spark.cores.max, 4, is not a text",
    ),
    "properties that are no mapping": (
        app(spark_conf=["a=b"], **SPARK),
        "spark_conf: ['a=b'] is not a mapping",
    ),
    "a file that Spark does not ship": (
        app(uris=["a.tar"], **SPARK),
        "uris: 'a.tar' is none of .py, .zip, .egg, .jar",
    ),
    "a path with a placeholder that does not exist": (
        app(read_fp="in/{dat}", **SPARK),
        "read_fp: there is no {dat} (did you mean date?)",
    ),
    "a path with a single brace": (app(write_fp="out/{date", **SPARK), "write_fp: a single {"),
    "a share above one": (
        app(read_fp="in", sample=2, **SPARK),
        "sample: 2 is not a share above 0 and up to 1",
    ),
    "no partitions": (app(read_fp="in", minPartitions=0, **SPARK), "minPartitions: 0 is not a whole number"),
    "mapjson that is no truth": (
        app(read_fp="in", mapjson=1, **SPARK),
        "mapjson: 1 is neither true nor false",
    ),
    "mapjson without read_fp": (app(mapjson=True, **SPARK), "mapjson: it needs read_fp"),
    # Programs.
    "a source that is impossible": (
        app(source="ftp://a/b.zip"),
        "source: invalid type of archive / program: ftp://a/b.zip",
    ),
    "an archive of no type that there is": (
        app(source="rsync:a/b.rar"),
        "source: invalid type of archive / program: rsync:a/b.rar",
    ),
    "a source that is no text": (app(source=7), "source: 7 is not a text"),
    "a source with a placeholder that does not exist": (
        app(source="https://host/{dat}.zip"),
        "source: there is no {dat} (did you mean date?); there are app_name, job_id, date, x",
    ),
    "an input with a single brace": (app(program="p", input="{date"), "input: a single {"),
    "an input that is no text": (app(program="p", input=["a"]), "input: ['a'] is not a text"),
    "a program that is no file name": (
        app(program="../bin"),
        "program: '../bin' cannot be the name of a program",
    ),
    "a digest that is none": (app(program="p", sha256="abc"), "sha256: 'abc' is no SHA-256; it is 64"),
    "a command for a program": (
        app(job_type="program", bash_cmd="true"),
        "an app of job_type program has no bash_cmd",
    ),
    "a source for a command": (
        app(bash_cmd="true", source="file:/x/run.sh"),
        "an app of job_type bash has no source",
    ),
    "a program for a function": (
        app(function="os.path:join", program="p"),
        "an app of job_type python has no program",
    ),
    "a program in a process": (app(program="p", isolate=True), "an app of job_type program has no isolate"),
    "a folder for a program": (app(program="p", cwd="/tmp"), "cwd: a program always runs in its own folder"),
    "isolate that is no truth": (app(isolate="yes"), "isolate: 'yes' is neither true nor false"),
    # Policy.
    "a negative count": (app(max_fails=-1), "max_fails: -1 is not a whole number from 0 on"),
    "a count that is a truth": (app(max_fails=True), "max_fails: True is not a whole number"),
    "a duration of no unit that there is": (
        app(timeout="5 parsecs"),
        "timeout: '5 parsecs' is not a duration",
    ),
    "a timeout of zero": (app(timeout=0), "timeout: a timeout of zero ends every job"),
    "a time that is none": (app(start_after="soon"), "start_after: 'soon' is not a time"),
    "an end before the start": (
        app(start_after="2026-01-02", end_before="2026-01-01"),
        "is not after start_after",
    ),
    "an unknown rule": (
        app(retry={"rule": "fixd"}),
        "retry: rule: 'fixd' is none of fixed, exponential, random",
    ),
    "an unknown option of a rule": (
        app(retry={"second": 5}),
        "retry: unknown option 'second' (did you mean seconds?)",
    ),
    "an unknown fail_on": (app(fail_on="stdout"), "fail_on: 'stdout' is none of exit, stderr, either"),
    "a variable that is no text": (app(env={"N": 5}), "env: the value of N, 5, is not a text"),
    "a text in an expression": (
        app(bash_cmd="[[ {n} -gt 3 ]]", job_id="{n}"),
        "bash_cmd: {n} is part of an arithmetic expression, so the shell would run code that a key contains",
    ),
    "a key with a text in an expression": (
        app(bash_cmd="echo $(( {job_id} ))", job_id="{n}"),
        "bash_cmd: {job_id} is part of an arithmetic expression",
    ),
    "a text that is run": (
        app(bash_cmd="bash -c 'echo {n}'", job_id="{n}"),
        "bash_cmd: {n} is in a text that a shell runs as a command",
    ),
    "work IDs in an expression": (
        {"a": {"chunk_size": 3, "bash_cmd": "let x={work_ids}"}},
        "bash_cmd: {work_ids} is part of an arithmetic expression",
    ),
    "a setting of Sluice's own for a job": (
        app(env_from_os=["SLUICE_LEDGER_URL"]),
        "env_from_os: SLUICE_LEDGER_URL is a setting or a secret of the worker itself and is not passed to jobs",
    ),
    "an option that submitters cannot be given": (
        app(submitters_may_set=["evn"]),
        "submitters_may_set: 'evn' is not an option of a policy (did you mean env?)",
    ),
    "variables that are no list": (app(env_from_os="HOME"), "env_from_os: 'HOME' is not a list"),
    "a limit that there is not": (
        app(limits={"cpus": 2}),
        "limits: unknown option 'cpus' (did you mean cpu?)",
    ),
    "a size that is none": (app(limits={"memory": "lots"}), "limits: memory: 'lots' is not a size"),
    "limits that are no mapping": (app(limits="2GB"), "limits: '2GB' is no mapping of limits"),
    "limits for a thread": (
        app(function="os.path:join", limits={"cpu": 1}),
        "limits: it runs in a thread of the worker, which cannot have any of its own; set isolate: true",
    ),
    "an output of a thread": (
        app(function="os.path:join", keep_output=True),
        "keep_output: output of a thread of the worker lacks that of processes that it starts; set isolate: true",
    ),
    "limits for a job manager": (
        app(job_type=f"{__name__}:Grid", limits={"cpu": 1}),
        "limits: it runs in a thread of the worker, which cannot have any of its own; pass it to the work",
    ),
    "keep_output that is no truth": (app(keep_output="yes"), "keep_output: 'yes' is neither true nor false"),
    "a folder that is no path": (app(cwd=7), "cwd: 7 is not the path of a folder"),
}
