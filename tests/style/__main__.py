"""``python -m tests.style``: figures of the code by room."""

import argparse

from tests.style import prose, report
from tests.style.sources import ROOT, Source, read_sources


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.style", description="Figures of the code by room.")
    parser.add_argument(
        "--matches", nargs="+", metavar="FILE", help="list the discouraged patterns in these files"
    )
    given = parser.parse_args()
    if given.matches:
        for path in given.matches:
            for found in prose.matches(Source(path, (ROOT / path).read_text())):
                advice = prose.PATTERNS[found.pattern][1]
                print(f"{found.path}:{found.line}: {found.pattern}: …{found.text}… ({advice})")
        return
    for line in report.report(read_sources()):
        print(line)


if __name__ == "__main__":
    main()
