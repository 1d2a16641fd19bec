from datetime import date

from dbos import DBOS
from fan_out import report


def test_report():
    DBOS(config={"name": "test"})
    DBOS.reset_system_database()
    DBOS.launch()
    DBOS.register_queue("shop")
    assert report(date(2026, 11, 20)) == 13
    DBOS.destroy()
