"""``python -m actors.worker`` is ``sluice worker``."""

import sys

from sluice.actors.worker.command import main

if __name__ == "__main__":
    sys.exit(main())
