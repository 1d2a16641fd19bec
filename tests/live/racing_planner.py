"""Planner process that plans each submission at a given moment.

Usage: ``python -m tests.live.racing_planner DEFINITIONS LEDGER``. An input line holds a moment, an id and a submission.
The output line holds the times at which planning began and ended.
"""

import json
import sys
import time

import msgspec

from sluice.broker.messages import Submit
from sluice.jobs.catalogue import load
from sluice.ledger.database.connection import Ledger
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
            pass  # A sleep may end much later; the other process would be done by then.
        began_s = time.time()
        taken_in(ledger, catalogue, message)
        sys.stdout.write(json.dumps([began_s, time.time()]) + "\n")
        sys.stdout.flush()
    ledger.close()


if __name__ == "__main__":
    main()
