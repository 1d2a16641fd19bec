import dagster as dg

DAYS = dg.DailyPartitionsDefinition("2026-01-01")
SHOPS = ["graz", "oslo", "porto"]


def fetch(shop: str) -> dg.AssetsDefinition:
    @dg.asset(name=shop, partitions_def=DAYS)
    def fetched(context: dg.AssetExecutionContext) -> int:
        return len(shop)

    return fetched


fetched = [fetch(shop) for shop in SHOPS]


@dg.asset(partitions_def=DAYS, ins={shop: dg.AssetIn() for shop in SHOPS})
def report(**sales: int) -> int:
    return sum(sales.values())
