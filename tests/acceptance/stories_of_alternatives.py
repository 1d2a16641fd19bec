"""Stories of dependency groups, which are alternatives. Stolos documented that, but waited for all groups.

A job is ready as soon as the parents of one group have succeeded. It runs once, whichever groups are satisfied later.
It cannot run any more only when each group has lost a parent. A pull requests one group at a time.
"""

from tests.acceptance.story import story

PLAIN = {"job_id": "{x}", "bash_cmd": "true"}


def either(*groups: str) -> dict[str, object]:
    """Return an app with an alternative for each of these lists of apps."""
    named = {f"way{place}": {"app_name": apps.split()} for place, apps in enumerate(groups, start=1)}
    return {**PLAIN, "depends_on": named}


ONE_OF_TWO = {"A": PLAIN, "B": PLAIN, "C": either("A", "B"), "D": either("C")}
TWO_OR_ONE = {"A": PLAIN, "B": PLAIN, "E": PLAIN, "C": either("A B", "E")}
SHARED = {"A": PLAIN, "B": PLAIN, "E": PLAIN, "C": either("A B", "A E")}
DEEP = {"top": PLAIN, "A": either("top"), "B": PLAIN, "C": either("A", "B"), "D": either("C")}

ALTERNATIVES = {
    "the first alternative that succeeds is enough": story(
        ONE_OF_TWO,
        "submit A => ready A",
        "finish A => succeeded A, expected B, ready C",
        "finish C => succeeded A C, expected B, ready D",
    ),
    "the second alternative alone is enough": story(
        ONE_OF_TWO,
        "submit B => ready B",
        "finish B => succeeded B, expected A, ready C",
    ),
    "a job that ran by one alternative does not run again by another": story(
        ONE_OF_TWO,
        "submit A B => ready A B",
        "finish A => succeeded A, ready B C",
        "finish C => succeeded A C, ready B D",
        "finish B => succeeded A B C, ready D",
        "finish D => succeeded A B C D",
        ran={"C": 1, "D": 1},
    ),
    "a job that runs by one alternative continues if another alternative fails": story(
        ONE_OF_TWO,
        "submit A B => ready A B",
        "finish A => succeeded A, ready B C",
        "start C => succeeded A, ready B, running C",
        "fail B => succeeded A, failed B, running C",
        "end C => succeeded A, failed B, executed C",
        "judge => succeeded A C, failed B, ready D",
    ),
    "a group of two parents is satisfied by both together": story(
        TWO_OR_ONE,
        "submit A B => ready A B",
        "finish A => succeeded A, ready B, expected E, waiting C",
        "finish B => succeeded A B, expected E, ready C",
    ),
    "half of one group and half of another do not satisfy a group": story(
        {"A": PLAIN, "B": PLAIN, "E": PLAIN, "F": PLAIN, "C": either("A B", "E F")},
        "submit A E => ready A E",
        "finish A E => succeeded A E, expected B F, waiting C",
        "submit F => succeeded A E, expected B, ready F, waiting C",
        "finish F => succeeded A E F, expected B, ready C",
    ),
    "a parent of two groups counts in both": story(
        SHARED,
        "submit A E => ready A E",
        "finish A => succeeded A, expected B, ready E, waiting C",
        "finish E => succeeded A E, expected B, ready C",
    ),
    # Pulling.
    "a job and its downstream jobs are lost with its last alternative": story(
        ONE_OF_TWO,
        "submit D id=one => ready A, expected B, waiting C D",
        "fail A => failed A, ready B, waiting C D",
        "fail B => failed A B, upstream_failed C D",
        "wait 1 => failed A B, upstream_failed C D",
        one="failed",
    ),
    "a rerun of a lost alternative makes the job wait again": story(
        ONE_OF_TWO,
        "submit D => ready A, expected B, waiting C D",
        "fail A => failed A, ready B, waiting C D",
        "fail B => failed A B, upstream_failed C D",
        "submit B rerun=job => failed A, ready B, waiting C D",
        "finish B => failed A, succeeded B, ready C, waiting D",
    ),
    "a pull uses an alternative in progress, even if it is listed second": story(
        ONE_OF_TWO,
        "submit B push=wanted => ready B",
        "start B => running B",
        "submit C => expected A, running B, waiting C",
    ),
    "a pull passes over a lost alternative": story(
        ONE_OF_TWO,
        "submit A push=wanted => ready A",
        "fail A => failed A",
        "submit C => failed A, ready B, waiting C",
    ),
    "one lost parent of two is enough to lose the group": story(
        TWO_OR_ONE,
        "submit C push=wanted => ready A B, expected E, waiting C",
        "fail B => ready A E, failed B, waiting C",
        "finish E => ready A, failed B, succeeded E, ready C",
    ),
    "an alternative is lost through a parent's parent": story(
        DEEP,
        "submit D => ready top, expected B, waiting A C D",
        "fail top => failed top, upstream_failed A, ready B, waiting C D",
        "finish B => failed top, upstream_failed A, succeeded B, ready C, waiting D",
    ),
    "a skipped parent loses an alternative like a failed one": story(
        {"A": {**PLAIN, "valid_if_or": {"x": ["9"]}}, "B": PLAIN, "C": either("A", "B")},
        "submit C => skipped A, ready B, waiting C",
        "finish B => skipped A, succeeded B, ready C",
    ),
}
