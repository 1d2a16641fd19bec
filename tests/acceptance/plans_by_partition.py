"""Expected plans of submissions about partitions, in the notation of ``partition_notation``: the partitions that are
read, the cuts into steps, and partitions that exist or are in progress."""

from typing import NamedTuple

LINEAGE = "S; G=7: S(90); J: G"


class Case(NamedTuple):
    """Submission with its expected plan. ``there`` has the partitions that exist before. ``active`` has the steps in
    progress, each requested by itself before. ``spared`` has existing partitions that need not be made. ``joined`` has
    the steps in progress that the jobs wait for, and ``awaited`` the partitions that must land. ``rerun`` is the option
    of the submission."""

    apps: str
    asked: str
    jobs: str
    there: str = ""
    active: str = ""
    spared: str = ""
    joined: str = ""
    awaited: str = ""
    rerun: str | None = None


EXAMPLES: dict[str, Case] = {
    "a join over a grouping over ninety days": Case(
        LINEAGE,
        "J 04-01..04-30",
        "S[01-02..04-30 each];"
        "G[04-01..04-07] <- S[01-02..04-07]; G[04-08..04-14] <- S[01-09..04-14];"
        "G[04-15..04-21] <- S[01-16..04-21]; G[04-22..04-28] <- S[01-23..04-28]; G[04-29..04-30] <- S[01-30..04-30];"
        "J[04-01..04-07 each] <- G[04-01..04-07]; J[04-08..04-14 each] <- G[04-08..04-14];"
        "J[04-15..04-21 each] <- G[04-15..04-21]; J[04-22..04-28 each] <- G[04-22..04-28];"
        "J[04-29..04-30 each] <- G[04-29..04-30]",
    ),
    "the same with a join that reads the day before": Case(
        "S; G=7: S(90); J: G(1/1)",
        "J 04-01..04-30",
        "S[01-01..04-29 each];"
        "G[03-31..04-06] <- S[01-01..04-06]; G[04-07..04-13] <- S[01-08..04-13];"
        "G[04-14..04-20] <- S[01-15..04-20]; G[04-21..04-27] <- S[01-22..04-27]; G[04-28..04-29] <- S[01-29..04-29];"
        "J[04-01..04-07 each] <- G[03-31..04-06]; J[04-08..04-14 each] <- G[04-07..04-13];"
        "J[04-15..04-21 each] <- G[04-14..04-20]; J[04-22..04-28 each] <- G[04-21..04-27];"
        "J[04-29..04-30 each] <- G[04-28..04-29]",
    ),
    "the same without a leap day among the ninety": Case(
        LINEAGE,
        "J 2023-06-01..2023-06-30",
        "S[2023-03-03..2023-06-30 each];"
        "G[2023-06-01..2023-06-07] <- S[2023-03-03..2023-06-07];"
        "G[2023-06-08..2023-06-14] <- S[2023-03-10..2023-06-14];"
        "G[2023-06-15..2023-06-21] <- S[2023-03-17..2023-06-21];"
        "G[2023-06-22..2023-06-28] <- S[2023-03-24..2023-06-28];"
        "G[2023-06-29..2023-06-30] <- S[2023-03-31..2023-06-30];"
        "J[2023-06-01..2023-06-07 each] <- G[2023-06-01..2023-06-07];"
        "J[2023-06-08..2023-06-14 each] <- G[2023-06-08..2023-06-14];"
        "J[2023-06-15..2023-06-21 each] <- G[2023-06-15..2023-06-21];"
        "J[2023-06-22..2023-06-28 each] <- G[2023-06-22..2023-06-28];"
        "J[2023-06-29..2023-06-30 each] <- G[2023-06-29..2023-06-30]",
    ),
}

STEPS: dict[str, Case] = {
    "a new step begins after an existing partition": Case(
        "G=7",
        "G 04-01..04-15",
        "G[04-01..04-04]; G[04-06..04-12]; G[04-13..04-15]",
        there="G[04-05]",
        spared="G[04-05]",
    ),
    "jobs that need only existing partitions do not wait": Case(
        "G=7; J: G",
        "J 04-01..04-30",
        "G[04-01..04-07]; G[04-11..04-17]; G[04-18..04-24]; G[04-25..04-30];"
        "J[04-01..04-07 each] <- G[04-01..04-07]; J[04-08..04-10 each]; J[04-11..04-17 each] <- G[04-11..04-17];"
        "J[04-18..04-24 each] <- G[04-18..04-24]; J[04-25..04-30 each] <- G[04-25..04-30]",
        there="G[04-08..04-10]",
        spared="G[04-08..04-10]",
    ),
    "over a leap day": Case("G=7", "G 02-26..03-05", "G[02-26..03-03]; G[03-04..03-05]"),
    "over the end of another February": Case(
        "G=7", "G 2023-02-26..2023-03-05", "G[2023-02-26..2023-03-04]; G[2023-03-05]"
    ),
    "a step size longer than the requested span": Case("G=90", "G 04-01..04-03", "G[04-01..04-03]"),
    "all requested partitions exist": Case(
        LINEAGE, "J 04-01..04-03", "", there="J[04-01..04-03]", spared="J[04-01..04-03]"
    ),
    "inputs of existing partitions are not made": Case(
        "G; J: G",
        "J 04-01..04-02",
        "G[04-02]; J[04-02] <- G[04-02]",
        there="J[04-01]",
        spared="J[04-01]",
    ),
    "existing partitions of some tables make steps shorter": Case(
        "S; G=3: S(1); J=2: G",
        "J 04-01..04-05",
        "S[04-03..04-05 each]; G[04-04..04-05] <- S[04-03..04-05];"
        "J[04-02..04-03]; J[04-04..04-05] <- G[04-04..04-05]",
        there="J[04-01] G[04-01..04-03] S[03-01..04-02]",
        spared="J[04-01] G[04-02..04-03]",
    ),
    "two ways to read one table": Case(
        "S; G: S(3/3), S",
        "G 04-10",
        "S[04-07]; S[04-10]; G[04-10] <- S[04-07], S[04-10]",
    ),
    "partitions that several apps need are combined before they are cut": Case(
        "S=4; A: S(0/0); B: S(2/2); J: A, B",
        "J 04-05",
        "S[04-03]; S[04-05]; A[04-05] <- S[04-05]; B[04-05] <- S[04-03]; J[04-05] <- A[04-05], B[04-05]",
    ),
}

SHARED: dict[str, Case] = {
    "steps in progress are joined, and the other partitions are made": Case(
        "G=7; J: G",
        "J 04-05..04-20",
        "G[04-11..04-17]; G[04-18..04-20];"
        "J[04-05..04-07 each] <- G[04-01..04-07]; J[04-08..04-10 each] <- G[04-08..04-10];"
        "J[04-11..04-17 each] <- G[04-11..04-17]; J[04-18..04-20 each] <- G[04-18..04-20]",
        active="G[04-01..04-07] G[04-08..04-10]",
        joined="G[04-01..04-07] G[04-08..04-10]",
    ),
    "partitions on both sides of steps in progress are made": Case(
        "G=7",
        "G 03-25..04-20",
        "G[03-25..03-31]; G[04-11..04-17]; G[04-18..04-20]",
        active="G[04-01..04-07] G[04-08..04-10]",
        joined="G[04-01..04-07] G[04-08..04-10]",
    ),
    "all needed partitions are in progress": Case(
        "G=7; J=9: G",
        "J 04-03..04-06",
        "J[04-03..04-06] <- G[04-01..04-07]",
        active="G[04-01..04-07] G[04-08..04-10]",
        joined="G[04-01..04-07]",
    ),
    "the same submission again": Case(
        "G=7", "G 04-01..04-07", "", active="G[04-01..04-07]", joined="G[04-01..04-07]"
    ),
}

READING: dict[str, Case] = {
    "a table that is filled outside of Sluice, with a gap": Case(
        "G=2: events",
        "G 04-01..04-06",
        "G[04-01..04-02]; G[04-03..04-04] <- events[04-03]; G[04-05..04-06] <- events[04-06]",
        there="events[04-01..04-02] events[04-04..04-05] events[04-30]",
        spared="events[04-01..04-02] events[04-04..04-05]",
        awaited="events[04-03] events[04-06]",
    ),
    "any later partition is accepted": Case("G: users(any)", "G 04-07", "G[04-07]", there="users[04-20]"),
    "the latest partition of a cumulative table is too old": Case(
        "G: users(any)", "G 04-21", "G[04-21] <- users[04-21]", there="users[04-20]", awaited="users[04-21]"
    ),
    "from a cut-off on": Case(
        "S; G=7: S(90 from=03-31)",
        "G 04-01..04-02",
        "S[03-31..04-02 each]; G[04-01..04-02] <- S[03-31..04-02]",
    ),
    "up to a cut-off": Case(
        "S; G=7: S(0 to=04-01)", "G 04-01..04-02", "S[04-01]; G[04-01..04-02] <- S[04-01]"
    ),
    "no partition of the table is needed": Case("S; G=7: S(0/10)", "G 04-01..04-07", "G[04-01..04-07]"),
    "all existing partitions of a table": Case(
        "G=7: events(all)",
        "G 04-02..04-03",
        "G[04-02..04-03] <- events[04-03]",
        there="events[03-30..04-02]",
        spared="events[03-30..04-02]",
        awaited="events[04-03]",
    ),
    "days that are made from hours": Case(
        "H@hour=24; D: H(1)",
        "D 04-01",
        "H[2024-03-31-00..2024-03-31-23]; H[2024-04-01-00..2024-04-01-23];"
        "D[04-01] <- H[2024-03-31-00..2024-04-01-23]",
    ),
    "hours that are made from days": Case(
        "D; H@hour=2: D",
        "H 2024-04-01-22..2024-04-02-01",
        "D[04-01..04-02 each];"
        "H[2024-04-01-22..2024-04-01-23] <- D[04-01]; H[2024-04-02-00..2024-04-02-01] <- D[04-02]",
    ),
    "half a day back is the day before": Case(
        "S; G: S(12h)", "G 04-01", "S[03-31..04-01 each]; G[04-01] <- S[03-31..04-01]"
    ),
}

ANEW: dict[str, Case] = {
    "a rerun makes existing partitions again": Case(
        "G=2; J: G",
        "G 04-01..04-03",
        "G[04-01..04-02]; G[04-03]",
        there="G[04-01..04-04] J[04-01..04-04]",
        rerun="job",
    ),
    "a downstream rerun also makes dependent partitions again": Case(
        "G=2; J: G(1)",
        "G 04-02",
        "G[04-02]; J[04-02] <- G[04-02]; J[04-03] <- G[04-02]",
        there="G[04-01..04-04] J[04-01..04-03]",
        spared="G[04-01] G[04-03]",
        rerun="downstream",
    ),
}
