"""Scenarios and acceptance on other releases of Postgres: ``python -m tests.postgres_versions``.

It uses releases 14, 16 and 18 in containers, if Docker runs on this machine. Otherwise it uses each installed release
of Debian. All other tests use the embedded release.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from sluice.ledger.embedded.binaries import Machine
from sluice.ledger.embedded.server import open_postgres
from tests.leftovers import run_without_leftovers
from tests.private_servers import docker_listens

RELEASES = ("14", "16", "18")
TESTS = ("tests/ledger", "tests/actors", "tests/acceptance")
#: Tests that start, or need, a server of their own kind.
NOT_HERE = (
    "tests/ledger/embedded",
    "tests/ledger/test_connection_settings.py",
    "tests/ledger/test_generations.py",
)


def main() -> int:
    failed = []
    for release in RELEASES if docker_listens() else _installed():
        with _server(release) as url:
            print(f"Postgres {release}", flush=True)
            if _tested(url) != 0:
                failed.append(release)
    print(f"failed: {', '.join(failed)}" if failed else "all releases passed")
    return 1 if failed else 0


def _installed() -> list[str]:
    found = sorted(
        path.name for path in Machine().packages.glob("*/bin/initdb") for path in [path.parents[1]]
    )
    if not found:
        print("Neither Docker nor a Postgres of Debian's is here; install postgresql, or start Docker.")
        sys.exit(1)
    return found


@contextmanager
def _server(release: str) -> Iterator[str]:
    """Yield the address of a superuser, so that each test process can create a database of its own."""
    with ExitStack() as stack:
        if docker_listens():
            from testcontainers.postgres import PostgresContainer  # noqa: PLC0415 - slow, and rarely wanted

            container = stack.enter_context(PostgresContainer(f"postgres:{release}"))
            yield container.get_connection_url(driver=None)
        else:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            only = folder / "packages"
            only.mkdir()
            (only / release).symlink_to(Machine().packages / release)
            machine = Machine(wheel="no_such_package", path="", packages=only)
            postgres = stack.enter_context(closing(open_postgres(folder / "home", machine, durable=False)))
            yield postgres.url


def _tested(url: str) -> int:
    command = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses", "auto", "--maxprocesses", "4"]
    ignored = [f"--ignore={path}" for path in NOT_HERE]
    environment = os.environ | {"SLUICE_TEST_LEDGER_URL": url}
    return subprocess.run(
        [*command, *ignored, "-k", "given", *TESTS], env=environment, check=False
    ).returncode


if __name__ == "__main__":
    with run_without_leftovers():
        sys.exit(main())
