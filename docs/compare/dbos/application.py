import os
from threading import Event

import fan_out
import nightly
from dbos import DBOS

if __name__ == "__main__":
    DBOS(config={"name": "shop", "system_database_url": os.environ["DATABASE_URL"]})
    DBOS.launch()
    DBOS.register_queue("shop")
    Event().wait()
