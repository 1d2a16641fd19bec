from sluice import schedule

nightly = schedule(id="nightly", app="report", cron="0 2 * * *", key="{due-1d:%Y%m%d}")
