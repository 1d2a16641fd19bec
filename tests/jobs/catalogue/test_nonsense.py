"""Loading any file results in a catalogue or in a list of faults."""

from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluice.jobs.catalogue import parse_policy
from sluice.jobs.catalogue.fields.app_options import WORDS
from sluice.jobs.errors import BadRequest, DefinitionError
from sluice.jobs.keys.calendar import UNITS
from tests.planner.definitions import catalogue_of

#: Texts that are almost valid values or options.
NEAR = [
    "{x}",
    "{x}_{y}",
    "{x",
    "}",
    "a",
    "b",
    "x",
    "y",
    "all",
    "0:3",
    "3:0",
    "int",
    "date",
    "app_name",
    "job_id",
]
NEAR += ["when", "failed", "_func", "os.path:join", "os.path", "fixed", "rule", "2s", "", "\0", "\ud800", "_"]
TEXTS = st.sampled_from(NEAR) | st.text(max_size=3)
SCALARS = st.none() | st.booleans() | st.integers(-5, 5) | st.just(10**40) | st.floats() | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
SOUND: dict[str, Any] = {"job_id": "{x}_{y}", "autofill_values": {"x": [1, 2], "y": ["u"]}}
APPS = st.fixed_dictionaries({}, optional=dict.fromkeys(WORDS, VALUES)) | VALUES


@given(APPS, APPS)
def test_nonsense_apps_are_reported_as_faults(a: Any, b: Any) -> None:
    both = {"sound": SOUND, "a": a, "b": {**SOUND, **b} if isinstance(b, dict) else b}
    with suppress(DefinitionError):
        catalogue_of(both)


@given(st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4))
def test_nonsense_in_a_policy_is_a_bad_request(changes: dict[str, Any]) -> None:
    with suppress(BadRequest):
        parse_policy(changes)


FORMATS = st.sampled_from(["%Y", "%Y%m%d", "%", "%Y%", "%Y%Y", "%e", "%é", "(%Y", "%Y-%m-%d-%H", "\ud800%Y"])
SPELLED = st.sampled_from(["2024-04-01", "2024-04", "20240401", "9999-12-31", "0001-01-01", "2024-W14"])
TIMES = SPELLED | st.integers(0, 10**9) | st.sampled_from(["1d", "1e400d", "99999999999999999999w"]) | VALUES
PARTITION = st.fixed_dictionaries(
    {},
    optional={
        "unit": st.sampled_from(UNITS) | VALUES,
        "format": FORMATS | VALUES,
        "first": TIMES,
    },
)
READING = st.fixed_dictionaries(
    {"table": st.sampled_from(["a", "b", "t"])},
    optional={
        "partition": PARTITION,
        **dict.fromkeys(["start_offset", "end_offset", "offset", "start_cutoff", "end_cutoff"], TIMES),
    },
)
FILLING = st.fixed_dictionaries({"partition": PARTITION, "table_dependencies": st.lists(READING, max_size=3)})


@given(FILLING, FILLING)
def test_nonsense_in_partitions_is_reported_as_faults(a: Any, b: Any) -> None:
    with suppress(DefinitionError):
        catalogue_of({"a": a, "b": b})
