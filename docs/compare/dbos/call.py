import os
from datetime import date

from dbos import DBOSClient

client = DBOSClient(system_database_url=os.environ["DATABASE_URL"])
handle = client.enqueue({"workflow_name": "report", "queue_name": "shop"}, date(2026, 11, 20))
print(handle.get_result())
