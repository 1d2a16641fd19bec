"""``make demo``: a small pipeline on the embedded default, without any earlier installation or configuration."""

import os
import sys
import tempfile

from sluice.ops.cli.main import main

_APPS = "sluice.jobs.examples.shops"
_DATE = "20261120"

_STEPS = (
    ("The apps and their dependencies:", ["graph", "--format", "mermaid"]),
    (
        "A submission of one report pulls the twelve missing jobs; its success pushes publish:",
        ["run", "report", _DATE],
    ),
    ("The till in oslo did not answer at first:", ["show", "fetch", f"{_DATE}_oslo"]),
    ("Every recorded transition is legal, and the ledger is consistent:", ["db", "check"]),
)


def demo() -> int:
    """Run the commands that a user would type, in a fresh home. Return the first exit code that is not 0."""
    with tempfile.TemporaryDirectory(prefix="sluice-demo-") as home:
        os.environ["SLUICE_HOME"] = home
        for words, command in _STEPS:
            print(f"\n{words}\n$ sluice --apps {_APPS} {' '.join(command)}\n", flush=True)
            if code := main(["--apps", _APPS, *command]):
                return code
    return 0


if __name__ == "__main__":
    sys.exit(demo())
