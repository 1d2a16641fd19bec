import dagster as dg

job = dg.define_asset_job("nightly", "+report")
nightly = dg.build_schedule_from_partitioned_job(job, hour_of_day=2)
