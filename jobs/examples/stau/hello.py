"""Print a greeting for work IDs, one per job. It runs because ``goodbye`` needs it, on the same work IDs."""

STAU_CONFIG = {
    "job_type": "hello",
    "chunk_size": 1,
    "dependencies": [],
    "main_func": "hello",
    "data_sinks": ["stdout"],
}


def hello(work_ids: list[int], **kwargs: object) -> None:
    for work_id in work_ids:
        print(f"Hello work ID {work_id}")
