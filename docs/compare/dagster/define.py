import dagster as dg


class Fetch(dg.Config):
    day: str
    shop: str


@dg.asset
def fetch(config: Fetch) -> int:
    return len(config.shop)
