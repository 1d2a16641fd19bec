from datetime import date

from prefect.deployments import run_deployment

run = run_deployment("report/report", parameters={"day": date(2026, 11, 20)})
print(run.state.result())
