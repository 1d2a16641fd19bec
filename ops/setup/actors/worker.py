"""``python -m actors.worker`` is ``sluice worker``."""

import sys

from sluice.actors.worker import main

if __name__ == "__main__":
    sys.exit(main())
