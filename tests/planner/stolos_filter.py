"""The filter of ``app3`` in the example."""

from jobs.identifiers import parse_day

FRIDAY, SUNDAY = 4, 6


def client_on_friday_or_sunday(app: str, *, date: str, client_id: int, collection_name: str) -> bool:
    return client_id == 1111 and parse_day(str(date)).weekday() in {FRIDAY, SUNDAY}
