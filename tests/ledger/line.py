"""Who stands in line for the slots of pools, and in which order they get them."""

from tests.world import World


def in_line(world: World) -> list[str]:
    rows = world.ledger.transact(lambda tx: tx.rows("SELECT app, key FROM job WHERE queued ORDER BY id"))
    return [f"{app}/{key}" for app, key in rows]


def run_all(world: World) -> list[str]:
    """Run what is ready, one after the other; in which order that was."""
    order = []
    while found := sorted(world.ready()):
        order.append(found[0])
        world.finish(found[0])
    return order
