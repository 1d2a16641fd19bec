"""``python -m sluice.ops.tools.site [FOLDER]``: make the site from the pages in ``docs``. Default of FOLDER:
``site``.
"""

import sys
from pathlib import Path

from sluice.ops.tools.site.build import BrokenSite, build

ROOT = Path(__file__).resolve().parents[3]


def main() -> int:
    to = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    try:
        made = build(ROOT, to)
    except BrokenSite as broken:
        print(broken.what, broken.advice, sep="\n", file=sys.stderr)
        return broken.exit_code
    print(f"{len(made)} pages: {to / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
