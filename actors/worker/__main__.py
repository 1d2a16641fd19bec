"""``python -m actors.worker`` in a checkout, and ``python -m sluice.actors.worker`` anywhere."""

import sys

from sluice.actors.worker.command import main

if __name__ == "__main__":
    sys.exit(main())
