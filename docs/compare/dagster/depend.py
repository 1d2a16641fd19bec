import dagster as dg

DAYS = dg.DailyPartitionsDefinition("2026-01-01")
SHOPS = dg.StaticPartitionsDefinition(["graz", "oslo", "porto"])
DAYS_AND_SHOPS = dg.MultiPartitionsDefinition({"day": DAYS, "shop": SHOPS})


@dg.asset(partitions_def=DAYS_AND_SHOPS)
def fetch(context: dg.AssetExecutionContext) -> int:
    return len(context.partition_key.keys_by_dimension["shop"])


@dg.asset(partitions_def=DAYS_AND_SHOPS)
def report(fetch: int) -> int:
    return fetch
