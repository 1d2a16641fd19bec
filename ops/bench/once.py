"""``python -m ops.bench.once WORKLOAD LEDGER_URL``: one run, in a process of its own. Prints its figures."""

import sys

import msgspec

from ops.bench.workloads import WORKLOADS

if __name__ == "__main__":
    name, ledger_url = sys.argv[1:]
    sys.stdout.write(msgspec.json.encode(WORKLOADS[name].run(ledger_url)).decode() + "\n")
