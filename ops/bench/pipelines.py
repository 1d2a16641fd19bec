"""Definitions for workloads: as large as users' definitions, and the same in every run."""

import random
from typing import Any

Apps = dict[str, Any]

_APPS = 300
_COLUMNS, _ROWS = 400, 250


def many_apps() -> Apps:
    """Return 300 apps. Most have one to three parents among the 40 apps before them; half of these use dependency
    groups.
    """
    dice = random.Random(300)  # noqa: S311 - drawn alike in every run, not to be guessed
    apps: Apps = {}
    for number in range(_APPS):
        before = list(apps)[-40:]
        parents = dice.sample(before, min(len(before), dice.randint(0, 3)))
        apps[f"app{number}"] = {
            "job_id": "{date}_{client}",
            "identifiers": {"date": "date", "client": "int"},
            "autofill_values": {"client": f"0:{dice.randint(10, 1000)}"},
            "bash_cmd": "process {date} {client}",
            **({"depends_on": _needs(dice, parents)} if parents else {}),
        }
    return apps


def _needs(dice: random.Random, parents: list[str]) -> dict[str, Any]:
    if dice.random() < 0.5:
        return {"app_name": parents}
    return {
        "usual": {"app_name": parents},
        "late": {"app_name": parents[:1], "date": ["2026-01-01", "2026-01-02"]},
    }


def grid() -> Apps:
    """Return a cross product of 100,000 cells, and a sum of all cells. Each cell needs its column, its row and the
    whole.
    """
    values = {"x": f"0:{_COLUMNS}", "y": f"0:{_ROWS}"}
    return {
        "whole": {"job_id": "{z}", "autofill_values": {"z": [1]}},
        "column": {"job_id": "{x}"},
        "row": {"job_id": "{y}"},
        "cell": {
            "job_id": "{x}_{y}",
            "autofill_values": values,
            "depends_on": {"app_name": ["whole", "column", "row"]},
        },
        "sum": {
            "job_id": "{z}",
            "autofill_values": {"z": [1]},
            "depends_on": {"app_name": ["cell"], "x": "all", "y": "all"},
        },
    }


def layers() -> Apps:
    """Return five layers of 20,000 jobs. Each job but those in the first layer needs four jobs of the layer before it,
    so there are 320,000 needs.
    """
    values = {"x": "0:5000", "y": "0:4"}
    apps: Apps = {"layer0": {"job_id": "{x}_{y}", "autofill_values": values}}
    for number in range(1, 5):
        apps[f"layer{number}"] = {
            "job_id": "{x}_{y}",
            "autofill_values": values,
            "depends_on": {"app_name": [f"layer{number - 1}"], "y": "all"},
        }
    return apps


def deep(groups: int) -> Apps:
    """Return 34 layers with 100 jobs per group that each need three jobs of the layer before.

    The layers start from three jobs per group without needs. A submission of the last layer pulls all jobs.
    """
    values = {"x": f"0:{groups}", "y": "0:3"}
    apps: Apps = {"deep0": {"job_id": "{x}_{y}", "autofill_values": values}}
    for number in range(1, 34):
        apps[f"deep{number}"] = {
            "job_id": "{x}_{y}",
            "autofill_values": values,
            "depends_on": {"app_name": [f"deep{number - 1}"], "y": "all"},
        }
    return apps | {
        "deepest": {
            "job_id": "{x}",
            "autofill_values": {"x": f"0:{groups}"},
            "depends_on": {"app_name": ["deep33"], "y": "all"},
        }
    }


def backfill(step_size: int) -> Apps:
    """Return 50 hourly apps: a binary tree of tables, in which two tables read each table, and a report that reads the
    leaves.
    """
    hourly = {"partition": "hour", "step_size": step_size, "bash_cmd": "true"}
    numbers = range(49)
    apps: Apps = {f"table{number}": dict(hourly) for number in numbers}
    for number in numbers[1:]:
        apps[f"table{number}"]["table_dependencies"] = [{"table": f"table{(number - 1) // 2}"}]
    unread = [f"table{number}" for number in numbers if 2 * number + 1 >= len(numbers)]
    return {**apps, "report": {**hourly, "table_dependencies": [{"table": name} for name in unread]}}


def chunks() -> Apps:
    """Return a million work IDs in 10,000 chunks, and three apps that must be fresh on them, with chunks of 100, 200
    and 500.
    """
    lag = {"max_lag": "6h"}
    work = {"bash_cmd": "true"}
    return {
        "report": {
            **work,
            "chunk_size": 100,
            "select_work": f"{__name__}:scattered_ids",
            "dependencies": [{"job_type": name, **lag} for name in ("extract", "clean", "score")],
        },
        "extract": {**work, "chunk_size": 100},
        "clean": {**work, "chunk_size": 200},
        "score": {**work, "chunk_size": 500},
    }


def scattered_ids() -> list[int]:
    """Return a million work IDs. No two of them are consecutive, so no range can describe them."""
    return [3 * number for number in range(1_000_000)]
