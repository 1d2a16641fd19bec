"""The sum of all numbers from m to n, p numbers per task: ``python -m sluice.jobs.examples.sum 10 100 3``.

The results are added again, p results per task, until one is left. Results are archived and their next task is opened
in one transaction. So this program may be killed at any moment, and continues when it is started again.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from sluice import connect
from sluice.actors.tasks import NewTask, Tasks
from sluice.jobs.states import State

T = TypeVar("T")
APPS = Path(__file__).with_name("apps.yaml")
PROGRAM = Path(__file__).with_name("run.sh")


def main(m: int, n: int, p: int) -> int:
    if p < 2:
        sys.exit("With p = 1 each task makes one task, and that never ends. Give 2 or more.")
    if m > n:
        sys.exit(f"There are no numbers from {m} to {n}.")
    with connect(apps=(str(APPS),)) as client:
        tasks = client.tasks("add")
        if not tasks.counts().left:
            tasks.open_many(_adding(numbers) for numbers in _parts(range(m, n + 1), p))
        return _add_up(tasks, p)


def _add_up(tasks: Tasks, p: int) -> int:
    while True:
        left = tasks.counts().left
        finished = list(tasks.finished())
        for task in finished:
            if task.state is not State.SUCCEEDED:
                sys.exit(f"Task {task.key} {task.state}: {task.error}\n`sluice retry add {task.key}` helps.")
        if not left:
            sys.exit("Another program has the sum, or has archived results that it needs.")
        is_all = len(finished) == left
        if is_all and left == 1:
            tasks.archive(finished[0])
            return int(finished[0].output or 0)
        for part in _parts(finished, p):
            if len(part) == p or (is_all and len(part) > 1):
                tasks.follow_up(part, [_adding([task.output for task in part])])
        time.sleep(0.1)


def _adding(numbers: Sequence[object]) -> NewTask:
    text = " ".join(str(number).strip() for number in numbers)
    return NewTask(kwargs={"source": f"file:{PROGRAM}", "input": text})


def _parts(whole: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (whole[start : start + size] for start in range(0, len(whole), size))


def _numbers(words: Sequence[str]) -> tuple[int, int, int]:
    try:
        m, n, p = map(int, words)
    except ValueError:
        sys.exit("Give three whole numbers, m, n and p, like: python -m sluice.jobs.examples.sum 10 100 3")
    return m, n, p


if __name__ == "__main__":
    print("The sum is", main(*_numbers(sys.argv[1:])))
