"""An ``ssh`` that runs what it is told on this very machine, and says how it was called."""

from pathlib import Path

#: Leaves out the options, remembers the host, and has a shell run the rest, as a server of ssh would.
_SCRIPT = """#!/bin/sh
echo "$@" >> "$0.calls"
while [ "${{1#-}}" != "$1" ]; do
    case $1 in -o|-l) shift 2 ;; *) shift ;; esac
done
shift
[ ! -e "$0.hangs" ] || exec sleep 3600
[ ! -e "$0.refuses" ] || {{ echo "Permission denied (publickey)." >&2; exit 255; }}
cd {home} && exec /bin/sh -c "$*"
"""


class FakeSsh:
    """Its home is where relative paths of the other machine begin."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.path = folder / "ssh"
        self.path.write_text(_SCRIPT.format(home=home))
        self.path.chmod(0o755)

    @property
    def calls(self) -> list[str]:
        path = Path(f"{self.path}.calls")
        return path.read_text().splitlines() if path.exists() else []

    def behave(self, how: str, *, on: bool = True) -> None:
        path = Path(f"{self.path}.{how}")
        path.touch() if on else path.unlink()
