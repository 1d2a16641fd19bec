import os
from datetime import datetime, timedelta
from typing import Any

from dbos import DBOS, DBOSClient
from fan_out import report


@DBOS.workflow()
def nightly(due: datetime, context: Any) -> None:
    report(due.date() - timedelta(days=1))


if __name__ == "__main__":
    client = DBOSClient(system_database_url=os.environ["DATABASE_URL"])
    client.apply_schedules(
        [{"schedule_name": "nightly", "workflow_name": "nightly", "schedule": "0 2 * * *"}]
    )
