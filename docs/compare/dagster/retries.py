import dagster as dg


class Fetch(dg.Config):
    day: str
    shop: str


@dg.asset
def fetch(context: dg.AssetExecutionContext, config: Fetch) -> int:
    try:
        return len(config.shop)
    except ConnectionError as error:
        raise dg.RetryRequested(max_retries=4, seconds_to_wait=2**context.retry_number) from error
