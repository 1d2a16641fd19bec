"""Print a farewell to work IDs that were greeted, two per job.

A folder of such files needs nothing else: ``sluice --apps jobs/examples/stau up``. Each minute the schedule requests
``goodbye`` on the IDs that ``select_work`` returns, and so ``hello`` on the same IDs: two jobs, then one.
"""

from sluice import schedule

STAU_CONFIG = {
    "job_type": "goodbye",
    "chunk_size": 2,
    # No earlier run of hello is fresh enough.
    "dependencies": [{"job_type": "hello", "max_lag": 0}],
    "main_func": "goodbye",
    "data_sinks": ["stdout"],
}

every_minute = schedule(
    id="goodbye every minute",
    app="goodbye",
    cron="* * * * *",
    kwargs={"final_message": "Thanks for trying Stau!"},
)


def select_work(**kwargs: object) -> list[int]:
    return [0, 1]


def goodbye(work_ids: list[int], final_message: str = "", **kwargs: object) -> None:
    for work_id in work_ids:
        print(f"Goodbye work ID {work_id}")
    if final_message:
        print(final_message)
