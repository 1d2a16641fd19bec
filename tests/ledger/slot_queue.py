"""Jobs that wait for slots of pools, and the order in which they get them."""

from tests.world import World


def waiting_for_slot(world: World) -> list[str]:
    rows = world.ledger.transact(
        lambda tx: tx.rows("SELECT app, key FROM job WHERE waiting_for_slot ORDER BY id")
    )
    return [f"{app}/{key}" for app, key in rows]


def run_all(world: World) -> list[str]:
    """Run ready jobs one after the other until none is ready. Return them in this order."""
    order = []
    while found := sorted(world.ready()):
        order.append(found[0])
        world.finish(found[0])
    return order
