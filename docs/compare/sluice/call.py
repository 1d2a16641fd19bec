from datetime import date

from fan_out import report

from sluice import connect

with connect() as client:
    print(client.submit(report.job(day=date(2026, 11, 20))).result())
