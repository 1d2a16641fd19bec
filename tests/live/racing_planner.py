"""A planner in a process of its own, which plans each submission it is told of at the moment that it is told.

``python -m tests.live.racing_planner DEFINITIONS LEDGER``: a line in is a moment and a submission, a line out is when
planning it began and when it ended.
"""

import json
import sys
import time

import msgspec

from sluice.broker.messages import Submit
from sluice.jobs.catalogue import load
from sluice.ledger.connection import Ledger
from tests.world import taken_in


def main() -> None:
    definitions, url = sys.argv[1:]
    catalogue, ledger = load([definitions]), Ledger(url, connections=1)
    ledger.transact(lambda tx: tx.rows("SELECT 1"))
    sys.stdout.write("here\n")
    sys.stdout.flush()
    for line in sys.stdin:
        at_s, id_, words = json.loads(line)
        message = Submit(id=id_, submission=msgspec.Raw(msgspec.json.encode(words)))
        while time.time() < at_s:
            pass  # A sleep may end much later, and the other would be done by then.
        began_s = time.time()
        taken_in(ledger, catalogue, message)
        sys.stdout.write(json.dumps([began_s, time.time()]) + "\n")
        sys.stdout.flush()
    ledger.close()


if __name__ == "__main__":
    main()
