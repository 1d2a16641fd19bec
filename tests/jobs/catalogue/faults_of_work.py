"""Faults in how an app is written down, in what it does and under which policy."""

from tests.jobs.catalogue.faulty_apps import Fault, app
from tests.planner.definitions import DATED

FAULTS_OF_WORK: dict[str, Fault] = {
    # The top of a source.
    "a default that is no text": ({"default_job_id": 7, "a": DATED}, "default_job_id: 7 is not a text"),
    "schedules": ({"schedules": [], "a": DATED}, "schedules are not available"),
    # Words.
    "an unknown word": (app(max_fail=3), "unknown word 'max_fail' (did you mean max_fails?)"),
    "an app that is no mapping": ({"a": ["echo"]}, "an app is a mapping of words; this is ['echo']"),
    "a name that starts with a digit": ({"1a": DATED}, "an app's name is a letter, then"),
    "a name that is a queue of ours": ({"groomer": DATED}, "groomer is the name of a queue of Sluice's own"),
    "two names of one word": (app(job_id_template="{date}"), "job_id and job_id_template are two names"),
    # Work.
    "a job type that is not there": (
        app(job_type="pyspark"),
        "job type pyspark is not available; there are bash,",
    ),
    "a job type of the user's": (app(job_type="acme:Grid"), "job type acme:Grid is not available"),
    "a placeholder that does not exist": (
        app(bash_cmd="echo {dat}"),
        "bash_cmd: there is no {dat} (did you mean date?); there are app_name, job_id, date, x",
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
    "an unknown word of a rule": (
        app(retry={"second": 5}),
        "retry: unknown word 'second' (did you mean seconds?)",
    ),
    "an unknown fail_on": (app(fail_on="stdout"), "fail_on: 'stdout' is none of exit, stderr, either"),
    "a variable that is no text": (app(env={"N": 5}), "env: the value of N, 5, is not a text"),
    "variables that are no list": (app(env_from_os="HOME"), "env_from_os: 'HOME' is not a list"),
    "a folder that is no path": (app(cwd=7), "cwd: 7 is not the path of a folder"),
}
