"""Faults in the options of an app that is keyed by partition."""

from typing import Any

from tests.jobs.catalogue.faulty_apps import Fault


def filling(**words: Any) -> dict[str, Any]:
    return {"a": {"output_table": "out", **words}}


def reading(*tables: Any, **words: Any) -> dict[str, Any]:
    """Define ``a``, which reads these tables, and ``b``, which fills the table ``raw``. Other tables are external."""
    return {"b": {"output_table": "raw"}, "a": {"table_dependencies": list(tables), **words}}


def table(**words: Any) -> dict[str, Any]:
    return reading({"table": "raw", **words})


def counted(**words: Any) -> dict[str, Any]:
    return filling(partition=words)


def chain(**reads: str) -> dict[str, Any]:
    return {name: {"table_dependencies": [{"table": other}]} for name, other in reads.items()}


def external(a: Any, b: Any, **words: Any) -> dict[str, Any]:
    """Define two apps that read an external table, each with its own ``partition`` for it."""
    return {
        name: {"table_dependencies": [{"table": "raw", **({"partition": said} if said else {})}], **words}
        for name, said in {"a": a, "b": b}.items()
    }


FAULTS_OF_PARTITIONS: dict[str, Fault] = {
    # Options of another keyspace.
    "an identifier of a partition": (
        filling(identifiers={"date": "date"}),
        "identifiers: an app with output_table is keyed by partition and has no keys of its own",
    ),
    "everything of a template in a partition": (
        filling(step_size=2, job_id="{x}", identifiers=7, autofill_values=7, depends_on=7, valid_if_or=7),
        "job_id, identifiers, autofill_values, depends_on, valid_if_or: an app with output_table, step_size is",
    ),
    "parents of a partition": (
        filling(depends_on={"app_name": ["z"]}),
        "list the tables that it reads in table_dependencies",
    ),
    "chunks of partitions": (
        filling(chunk_size=3, dependencies=7),
        "chunk_size, dependencies: an app with output_table is keyed by partition",
    ),
    "words of all three": (
        {"a": {"job_id": "{x}", "chunk_size": 0, "step_size": 2, "modes": {}}},
        "job_id, chunk_size: an app with step_size, modes is keyed by partition",
    ),
    "an unknown option of partitions": (
        filling(stepsize=3),
        "unknown option 'stepsize' (did you mean step_size?)",
    ),
    "halves of partitions": (filling(on_failure="bisect"), "on_failure: bisect splits work IDs, and an app"),
    # Tables and steps.
    "no table": (filling(output_table=None), "output_table: None is not the name of a table"),
    "a table without a name": (filling(output_table=""), "output_table: '' is not the name of a table"),
    "a table of blanks": (filling(output_table=" t"), "output_table: ' t' is not the name of a table"),
    "a table that cannot be printed": (filling(output_table="a\nb"), "is not the name of a table"),
    "a table that is a number": (filling(output_table=7), "output_table: 7 is not the name of a table"),
    "a step of zero": (filling(step_size=0), "step_size: 0 is not a whole number from 1 on"),
    "a step below zero": (filling(step_size=-7), "step_size: -7 is not a whole number from 1 on"),
    "a broken step": (filling(step_size=1.5), "step_size: 1.5 is not a whole number from 1 on"),
    "a step in words": (filling(step_size="7"), "step_size: '7' is not a whole number from 1 on"),
    "a true step": (filling(step_size=True), "step_size: True is not a whole number from 1 on"),
    # Units and formats of partitions.
    "a unit that there is not": (
        filling(partition="dai"),
        "partition: unit: 'dai' is none of hour, day, week, month (did you mean day?)",
    ),
    "a unit among words": (counted(unit="year"), "partition: unit: 'year' is none of hour, day, week, month"),
    "a unit and its format": (counted(unit="minute", format="%M"), "partition: unit: 'minute' is none of"),
    "a partition that is a number": (
        filling(partition=7),
        "partition: 7 is none of hour, day, week, month, nor a",
    ),
    "no partition": (
        filling(partition=None),
        "partition: None is none of hour, day, week, month, nor a mapping",
    ),
    "an unknown option of a partition": (
        counted(fromat="%Y"),
        "partition: unknown option 'fromat' (did you mean format?)",
    ),
    "a format that is none": (counted(format="date"), "format: 'date' is not a text with parts like %Y"),
    "a format that is a number": (counted(format=7), "format: 7 is not a text with parts like %Y"),
    "a format of nothing": (counted(format=""), "format: '' is not a text with parts like %Y"),
    "months for days": (
        counted(format="%Y-%m"),
        "format: '%Y-%m' writes '1999-12' for more than one day; the default is %Y-%m-%d",
    ),
    "days for hours": (
        counted(unit="hour", format="%Y-%m-%d"),
        "format: '%Y-%m-%d' writes '1999-12-31' for more than one hour; the default is %Y-%m-%d-%H",
    ),
    "half of the hours": (counted(unit="hour", format="%Y-%m-%d-%I"), "for more than one hour"),
    "a year of the calendar for a week": (
        counted(unit="week", format="%Y-W%V"),
        "format: '%Y-W%V' writes '2018-W01' for more than one week; the default is %G-W%V",
    ),
    "years for months": (counted(unit="month", format="%Y"), "for more than one month"),
    "some years alone": (counted(format="%y%m%d"), "'%y%m%d' writes '000310' for more than one day"),
    "a format without a year": (counted(unit="hour", format="%H"), "for more than one hour"),
    "a format that cannot be read": (
        counted(format="%Y-%m-%d-%Q"),
        "which cannot be read again",
    ),
    "one part of a format twice": (counted(format="%Y%Y-%m-%d"), "which cannot be read again"),
    "a blank": (
        counted(format="%Y %m %d"),
        "'%Y %m %d' writes '1999 12 31'; a partition may have neither",
    ),
    "a tab": (counted(format="%Y\t%m-%d"), "a partition may have neither blanks nor @ / , + in it"),
    "a slash": (counted(format="%Y/%m/%d"), "a partition may have neither blanks nor @ / , + in it"),
    "a comma": (counted(format="%Y,%m,%d"), "a partition may have neither blanks nor @ / , + in it"),
    "the mark of a version": (counted(format="%Y@%m-%d"), "a partition may have neither blanks nor"),
    "the mark for or later": (counted(format="%Y-%m-%d+"), "a partition may have neither blanks nor"),
    "the mark of a range": (counted(format="%Y..%m-%d"), "nor two dots, nor a dot at an end"),
    "a dot at the end, as in a range": (counted(format="%Y-%m-%d."), "nor two dots, nor a dot at an end"),
    "a first that is none": (
        counted(first="the beginning"),
        "partition: first: 'the beginning' is no partition; write it like 2024-04-01",
    ),
    "a first in a list": (counted(first=["2024-04-01"]), "first: ['2024-04-01'] is no partition"),
    "a true first": (counted(first=True), "first: True is no partition"),
    # Tables to read.
    "tables that are no list": (
        filling(table_dependencies={"table": "t"}),
        "table_dependencies: {'table': 't'} is not a list of mappings with table",
    ),
    "tables that are null": (filling(table_dependencies=None), "None is not a list of mappings with table"),
    "a table for a mapping": (
        reading("raw"),
        "table_dependencies: it has to be a mapping with table; this is",
    ),
    "a mapping without a table": (
        reading({"start_offset": 1}),
        "table_dependencies: number 1: it has no table, the name of the table that it reads",
    ),
    "a table to read that is a number": (
        reading({"table": 7}),
        "table_dependencies: number 1: table: 7 is not the name of a table",
    ),
    "an unknown option of a table": (
        table(start_ofset=1),
        "table_dependencies: raw: unknown option 'start_ofset' (did you mean start_offset?)",
    ),
    "an offset below zero": (
        table(start_offset=-1),
        "raw: start_offset: -1 is not a number of partitions from 0 on, nor a duration",
    ),
    "a broken offset": (table(end_offset=1.5), "end_offset: 1.5 is not a number of partitions from 0 on"),
    "a true offset": (table(offset=True), "offset: True is not a number of partitions from 0 on"),
    "an offset in words": (table(offset="a day"), "offset: 'a day' is not a duration"),
    "an offset below zero in words": (table(offset="-1d"), "offset: '-1d' is not a duration"),
    "an offset without its unit": (table(offset="90"), "offset: '90' has no unit"),
    "an offset of less than seconds": (table(offset="250ms"), "'250ms' is not a whole number of seconds"),
    "maybe cumulative": (table(cumulative="yes"), "raw: cumulative: 'yes' is neither true nor false"),
    "a cut-off that is none": (
        table(start_cutoff="soon"),
        "table_dependencies: raw: start_cutoff: 'soon' is no partition; write it like 2024-04-01",
    ),
    "an end that is none": (table(end_cutoff="2024-02-30"), "raw: end_cutoff: '2024-02-30' is no partition"),
    "a cut-off in a list": (table(end_cutoff=[1]), "end_cutoff: [1] is no partition"),
    "a true cut-off": (table(start_cutoff=True), "start_cutoff: True is no partition"),
    "cut-offs the wrong way round": (
        table(start_cutoff="2024-04-02", end_cutoff="2024-04-01"),
        "raw: start_cutoff: 2024-04-02 is after end_cutoff, 2024-04-01",
    ),
    "cut-offs of two units the wrong way round": (
        table(start_cutoff="2024-05", end_cutoff="2024-04-30-23"),
        "raw: start_cutoff: 2024-05 is after end_cutoff, 2024-04-30-23",
    ),
    "one table twice": (
        reading({"table": "raw"}, {"table": "raw"}),
        "table_dependencies: raw is listed twice",
    ),
    "one table twice, spelled out": (
        reading(
            {"table": "raw", "start_cutoff": "2024-04-01", "offset": 1},
            {
                "table": "raw",
                "start_cutoff": 20240401,
                "start_offset": 1,
                "end_offset": 1,
                "partition": "day",
            },
        ),
        "table_dependencies: raw is listed twice",
    ),
    "a calendar that there is not": (table(partition="dai"), "raw: partition: unit: 'dai' is none of hour"),
    # Modes.
    "modes in a list": (
        filling(modes=["offline"]),
        "modes: ['offline'] is not a mapping of modes to policy options",
    ),
    "a mode without a name": (filling(modes={"": {}}), "modes: '' is no name; a mode's name is a letter"),
    "a mode of blanks": (filling(modes={"off line": {}}), "modes: 'off line' is no name"),
    "a mode of nothing": (
        filling(modes={"offline": None}),
        "modes: offline: it has to be a mapping of policy options; this is None",
    ),
    "an unknown option of a mode": (
        filling(modes={"offline": {"max_fail": 1}}),
        "modes: offline: unknown option 'max_fail' (did you mean max_fails?)",
    ),
    "a word of a mode that is none of a policy": (
        filling(modes={"offline": {"step_size": 1}}),
        "modes: offline: unknown option 'step_size'",
    ),
    "a policy that cannot be": (
        filling(modes={"offline": {"timeout": "never"}}),
        "modes: offline: timeout: 'never' is not a duration",
    ),
    "a policy that is too large": (
        filling(modes={"offline": {"env": {"A": "x" * 9000}}}),
        "modes: offline: its policy has 9016 bytes; at most 8192 are accepted",
    ),
    "halves in a mode": (
        filling(modes={"offline": {"on_failure": "bisect"}}),
        "modes: offline: on_failure: bisect splits work IDs, and an app with partitions has none",
    ),
    # Between apps.
    "two apps with one table": (
        {"b": {"output_table": "t"}, "a": {"output_table": "t"}},
        "output_table: both b and a fill t; only one app may fill a table",
    ),
    "an app called like the table of another": (
        {"t": {"step_size": 1}, "a": {"output_table": "t"}},
        "output_table: both t and a fill t",
    ),
    "a calendar that contradicts the producer of the table": (
        table(partition="hour"),
        "raw: partition: b fills it by day, like 2024-04-01; leave it out here",
    ),
    "a format that contradicts the producer of the table": (
        table(partition={"unit": "day", "format": "%Y%m%d"}),
        "raw: partition: b fills it by day, like 2024-04-01; leave it out here",
    ),
    "two apps that disagree on an external table": (
        external("hour", "day"),
        "raw: partition: for a its partitions are by hour, like 2024-04-01-13, for b by day, like 2024-04-01",
    ),
    "two apps that disagree on it, the second by default": (
        external("hour", None),
        "for a its partitions are by hour, like 2024-04-01-13, for b by day, like 2024-04-01; set the same",
    ),
    "two apps that disagree on its format": (
        external({"format": "%Y%m%d"}, "day"),
        "for a its partitions are by day, like 20240401, for b by day, like 2024-04-01",
    ),
    "two apps that disagree on the first partition of an external table": (
        external({"first": "2024-04-01"}, {"first": "2024-04-02"}),
        "raw: partition: first: for a its first partition is 2024-04-01, for b 2024-04-02; set it in one of them",
    ),
    "a first of an external table that is none": (
        external({"first": "April"}, None),
        "raw: partition: first: 'April' is no partition; write it like 2024-04-01",
    ),
    "a first of a table that an app fills": (
        table(partition={"first": "2024-04-01"}),
        "raw: partition: first: b fills it; set its first partition there",
    ),
    "an app that disagrees with itself": (
        reading({"table": "x", "partition": "hour"}, {"table": "x"}),
        "x: partition: for a its partitions are by hour",
    ),
    "an app for its table": (
        reading({"table": "b"}),
        "no app fills a table of this name; the app b fills raw",
    ),
    "an app that fills none": ({**reading({"table": "c"}), "c": {"job_id": "{x}"}}, "the app c fills none"),
    "an app that reads its own table": (chain(a="a"), "the apps depend on each other in a circle: a -> a"),
    "two that read each other's tables": (chain(a="b", b="a"), "in a circle: a -> b -> a"),
    "a long circle of tables": (
        chain(e="d", d="c", c="b", b="e", a="b"),
        "in a circle: b -> c -> d -> e -> b",
    ),
    "a parent by partition": (
        {**filling(), "c": {"job_id": "{date}", "depends_on": {"app_name": ["a"]}}},
        "depends_on: a is keyed by partition, so neither a key nor a work ID leads to its jobs",
    ),
    "a parent by partition of a function": (
        {
            **filling(),
            "c": {
                "job_id": "{n}",
                "depends_on": {"_func": "tests.planner.two_ways:Weeks", "app_name": ["a"]},
            },
        },
        "depends_on: a is keyed by partition, so neither a key nor",
    ),
    "a dependency by partition": (
        {**filling(), "c": {"chunk_size": 1, "dependencies": [{"job_type": "a", "max_lag": 1}]}},
        "dependencies: a is keyed by partition, so neither a key nor a work ID leads to its jobs",
    ),
    # Second dimensions.
    "two dimensions": (
        counted(by={"store": ["x"], "region": ["y"]}),
        "partition: by: store, region: a table has at most one second dimension",
    ),
    "no dimension": (counted(by={}), "partition: by: {} is not a mapping of a name to its values"),
    "a dimension without values": (counted(by={"store": []}), "by: store: [] is not a list of values"),
    "a value that is no part of a key": (
        counted(by={"store": ["a/b"]}),
        "by: store: 'a/b' cannot be a part of",
    ),
    "a number as a value": (counted(by={"store": [1]}), "by: store: 1 cannot be a part of a key"),
    "a value twice": (counted(by={"store": ["x", "x"]}), "by: store: x is listed twice"),
    "too many values": (
        counted(by={"store": [f"s{n}" for n in range(501)]}),
        "by: store: it has 501 values, and at most 500 are possible",
    ),
    "a dimension that is no argument": (
        counted(by={"a store": ["x"]}),
        "by: 'a store' is no name of an argument",
    ),
    "a dimension with the name of an argument": (
        counted(by={"start": ["x"]}),
        "by: start is the name of another argument of the job",
    ),
    "the dimension of a table that an app fills": (
        table(partition={"by": {"store": ["x"]}}),
        "partition: by: b fills it; set its second dimension there",
    ),
    "two dimensions of an external table": (
        external({"by": {"store": ["x"]}}, {"by": {"store": ["x", "y"]}}),
        "by: for a its second dimension is store with x, for b store with x, y; leave it out in either",
    ),
    "every slice of a table without slices": (
        table(by="all"),
        "by: all reads every slice of a table, and this one",
    ),
    "some slices of a table": (table(by="some"), "by: 'some' is none of all"),
    "slices with other values": (
        {
            "b": {"output_table": "raw", "partition": {"by": {"store": ["x", "y"]}}},
            "a": {"partition": {"by": {"store": ["y", "z"]}}, "table_dependencies": [{"table": "raw"}]},
        },
        "by: it has other values of store than a (x, z); set the same values in both",
    ),
    "a slice as a table": (
        reading({"table": "raw[store=x]"}),
        "is the name of a slice of a table; name the table",
    ),
    # The work of a job.
    "a placeholder of no partition": (
        filling(bash_cmd="echo {date}"),
        "bash_cmd: there is no {date}; there are app_name, job_id, start, end, partitions",
    ),
    "work IDs of a partition": (filling(bash_cmd="echo {work_ids}"), "bash_cmd: there is no {work_ids}"),
    # A fault causes no second fault in apps that depend on it.
    "a table with an invalid calendar": (
        {
            "b": {"output_table": "raw", "partition": {"format": "%Y-%m"}},
            "a": table(partition="hour", end_cutoff="2024-04x")["a"],
        },
        "partition: format: '%Y-%m' writes",
    ),
    "a reader with an invalid calendar": (
        {**external(None, None), "c": {**external(None, None)["a"], "partition": "weak"}},
        "partition: unit: 'weak' is none of hour, day, week, month",
    ),
}
