from datetime import date, timedelta

from fan_out import report
from prefect import flow


@flow
def nightly() -> int:
    return report(date.today() - timedelta(days=1))


if __name__ == "__main__":
    nightly.serve(cron="0 2 * * *")
