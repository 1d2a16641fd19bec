"""Sessions at a terminal: commands, and the jobs in the ledger after each command.

``sluice run C 1 => 1 failed A, upstream_failed B C`` is a command, its exit code, and every job in the ledger by state.
``prints …`` at the end is a text that the output must contain. ``A exits 3`` sets the exit code of the commands of app
A from then on.

No worker runs between the commands. Submissions are planned by the next ``run`` or ``up --drain``, which stand for
Stolos's worker. ``submit --rerun job`` and ``retry`` stand for its ``readd``.
"""

from typing import Any, NamedTuple

COMMAND = "echo {app_name}/{job_id} >> ran.txt; exit $(cat {app_name}.exit 2>/dev/null || echo 0)"


class Session(NamedTuple):
    """Commands of one session. ``ran`` has the job of every run."""

    apps: dict[str, Any]
    steps: tuple[str, ...]
    ran: str


def command(*parents: str, **words: Any) -> dict[str, Any]:
    """Return an app that needs all of these parents."""
    needs = {"depends_on": {"app_name": [*parents]}} if parents else {}
    return {"job_id": "{x}", "bash_cmd": COMMAND, **needs, **words}


def session(apps: dict[str, Any], *steps: str, ran: str = "") -> Session:
    return Session(apps, steps, ran)


ALONE = {"A": command()}
CHAIN = {"A": command(), "B": command("A"), "C": command("B")}
JOIN = {"A": command(), "B": command(), "C": command("A", "B")}
EITHER = {
    "A": command(),
    "B": command(),
    "C": command(depends_on={"one": {"app_name": ["A"]}, "other": {"app_name": ["B"]}}),
}
FILTERED = {"A": command(valid_if_or={"x": ["9"]}), "B": command("A")}

SESSIONS: dict[str, Session] = {
    # Submitting.
    "there is nothing to do": session(ALONE, "sluice up --drain => 0"),
    "jobs and submissions are submitted twice": session(
        ALONE,
        "sluice submit A 1 => 0",
        "sluice submit A 1 => 0",
        "sluice submit A 2 --id once => 0",
        "sluice submit A 2 --id once => 0 prints Submission once exists (received)",
        "sluice submit A 3 --id once => 2 prints Submission once exists already, with other content",
        "sluice up --drain => 0 succeeded A A/2",
        "sluice run A 1 2 => 0 succeeded A A/2",
        ran="A A/2",
    ),
    "several apps and several keys": session(
        {**CHAIN, "Z": command()},
        "sluice submit A 1 2 => 0",
        "sluice submit Z 1 2 => 0",
        "sluice submit A 2 1 => 0",
        "sluice up --drain => 0 succeeded A A/2 B B/2 C C/2 Z Z/2",
        "sluice run Z 2 1 => 0 succeeded A A/2 B B/2 C C/2 Z Z/2",
        ran="A A/2 B B/2 C C/2 Z Z/2",
    ),
    "the last job of a chain is run before its parents have run": session(
        CHAIN, "sluice run C 1 --push wanted => 0 succeeded A B C", ran="A B C"
    ),
    "a plan changes nothing": session(
        CHAIN,
        "sluice plan C 1 => 0 prints waiting",
        "sluice run B 1 --push wanted => 0 succeeded A B",
        "sluice plan C 1 => 0 succeeded A B prints the ledger has it",
        ran="A B",
    ),
    # Failing.
    "a job fails and is not run again by itself": session(
        ALONE,
        "A exits 3",
        "sluice run A 1 => 1 failed A prints exited with 3",
        "sluice up --drain => 0 failed A",
        "sluice run A 1 => 1 failed A",
        "A exits 0",
        "sluice run A 1 => 1 failed A",
        "sluice run A 1 --rerun job => 0 succeeded A",
        ran="A A",
    ),
    "a job is retried as often as --max-fails allows": session(
        ALONE, "A exits 1", "sluice run A 1 --max-fails 4 => 1 failed A", ran="A A A A A"
    ),
    "a failed parent is retried": session(
        CHAIN,
        "A exits 1",
        "sluice run C 1 => 1 failed A, upstream_failed B C prints exited with 1",
        "sluice run C 1 => 1 failed A, upstream_failed B C",
        "A exits 0",
        "sluice retry A 1 => 0 failed A, upstream_failed B C",
        "sluice up --drain => 0 succeeded A B C",
        ran="A A B C",
    ),
    "the middle job of a chain and the jobs after it are run again": session(
        CHAIN,
        "sluice run C 1 => 0 succeeded A B C",
        "sluice run B 1 --rerun downstream => 0 succeeded A B C",
        ran="A B B C C",
    ),
    "the first of two alternatives fails": session(
        EITHER,
        "A exits 1",
        "sluice run C 1 --push wanted => 0 failed A, succeeded B C",
        ran="A B C",
    ),
    "an app has nothing to run": session(
        {"A": {"job_id": "{x}", "bash_cmd": ""}, "B": command("A")},
        "sluice run B 1 => 1 failed A, upstream_failed B prints A has no bash_cmd to run",
    ),
    # Skipping.
    "a job does not pass its filter": session(FILTERED, "sluice run A 1 => 0 skipped A"),
    "a parent does not pass its filter": session(
        FILTERED,
        "sluice run B 1 => 0 skipped A B",
        "sluice run B 9 => 0 skipped A B, succeeded A/9 B/9",
        ran="A/9 B/9",
    ),
    # Showing, retrying and cancelling.
    "jobs and submissions that do not exist cannot be shown, retried or cancelled": session(
        ALONE,
        "sluice show A 1 => 2 prints The ledger has no job A/1",
        "sluice retry A 1 => 2 prints The ledger has no job A/1",
        "sluice cancel A 1 => 2 prints nothing left to cancel",
        "sluice cancel missing => 2 prints no open submission missing",
        "sluice submissions missing => 2 prints no submission missing",
    ),
    "an unfinished job cannot be retried": session(
        JOIN,
        "sluice run A 1 => 0 succeeded A, expected B, waiting C",
        "sluice retry C 1 => 2 succeeded A, expected B, waiting C prints C/1 is waiting; only finished jobs",
        ran="A",
    ),
    "a cancelled job is not pushed until it is requested again": session(
        JOIN,
        "sluice run A 1 => 0 succeeded A, expected B, waiting C",
        "sluice cancel C 1 => 0 succeeded A, expected B, cancelled C",
        "sluice run B 1 => 0 succeeded A B, cancelled C",
        "sluice run C 1 => 0 succeeded A B C",
        ran="A B C",
    ),
    "a submission is cancelled before it is planned": session(
        ALONE,
        "sluice submit A 1 --id one => 0",
        "sluice cancel one => 0",
        "sluice cancel one => 2 prints no open submission one",
        "sluice submit A 2 => 0",
        "sluice run A 2 => 0 succeeded A/2",
        ran="A/2",
    ),
}
