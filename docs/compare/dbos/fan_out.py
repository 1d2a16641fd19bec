from datetime import date

from dbos import DBOS

SHOPS = ["graz", "oslo", "porto"]


@DBOS.workflow()
def fetch(day: date, shop: str) -> int:
    return len(shop)


@DBOS.workflow()
def report(day: date) -> int:
    handles = [DBOS.enqueue_workflow("shop", fetch, day, shop) for shop in SHOPS]
    return sum(handle.get_result() for handle in handles)
