"""Fake ``ssh`` that runs the command on this machine and logs its arguments."""

from pathlib import Path

#: Script that logs its arguments, skips options and host, and passes the rest to a shell, as an ssh server does.
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
    """Fake ``ssh``. Relative paths of the other machine begin in ``home``."""

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
