"""Full disks, and folders without write permission."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.jobs.programs.archives import RUN_SH, Member, archive
from tests.jobs.programs.shop import Shop
from tests.jobs.programs.test_several_processes import ROOT

MIB = 1024 * 1024
LARGE = archive("tar", [RUN_SH, Member("data", os.urandom(3 * MIB))])
PACKED = archive("tar.gz", [RUN_SH, Member("data", b"data " * (3 * MIB // 5))])
NO_ROOM = "No space left on device"
#: Program that gets a program from a store, in a process that has a limit on file sizes or runs as another user.
CODE = """
import os, resource, sys, threading
from pathlib import Path
from sluice.jobs.programs.store import ProgramStore
from sluice.jobs.programs.errors import Unfit
bytes_max, user = int(sys.argv[3]), int(sys.argv[4])
if bytes_max:
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max))
if user:
    os.setuid(user)
try:
    with ProgramStore(Path(sys.argv[1])).program("prog", sys.argv[2], stop=threading.Event(), say=lambda _: None):
        print("ran")
except Unfit as error:
    print(error)
"""


@pytest.fixture
def full_disk(shop: Shop) -> Iterator[Path]:
    """Put the store on a disk of 4 MiB, and return its folder."""
    shop.folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=700", "tmpfs", str(shop.folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("a small disk can be mounted by root only, and not in every container")
    yield shop.folder
    subprocess.run(["umount", str(shop.folder)], check=True)


@pytest.mark.usefixtures("full_disk")
def test_a_disk_that_is_full_at_any_step_is_reported_and_cleaned_up(shop: Shop) -> None:
    huge = shop.put("huge.tar", LARGE + bytes(2 * MIB))
    shop.refuses(huge, f"it cannot be stored here: {NO_ROOM}")
    large = shop.put("large.tar", LARGE)
    assert shop.refusal(large) == (
        f"program 'prog' from {large} cannot be unpacked: it cannot be stored here: {NO_ROOM}"
    )
    packed = shop.put("packed.tar.gz", PACKED)
    assert (
        shop.refusal(packed) == f"program 'prog' from {packed} cannot be stored at {shop.folder}: {NO_ROOM}"
    )
    assert len(shop.versions()) == 1
    assert shop.run(shop.put("small.zip", archive("zip"))) == "ran\n"


def test_a_limit_on_the_file_size_is_reported(shop: Shop) -> None:
    """A quota has the same effect. This test also runs on machines that cannot mount a small disk."""
    source = shop.put("large.tar", LARGE)
    assert _elsewhere(shop, source, bytes_max=MIB) == (
        f"could not fetch program 'prog' from {source}: it cannot be stored here: File too large"
    )
    packed = shop.put("packed.tar.gz", PACKED)
    assert _elsewhere(shop, packed, bytes_max=MIB) == (
        f"program 'prog' from {packed} cannot be unpacked: it cannot be stored here: File too large"
    )
    assert shop.leftovers() == []


def test_a_folder_without_write_permission_is_reported(shop: Shop) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can switch to a user without write permission")
    source = shop.put("a.zip", archive("zip"))
    shop.folder.mkdir(mode=0o755)
    line = f"program 'prog' from {source} cannot be stored at {shop.folder}: Permission denied"
    assert _elsewhere(shop, source, user=65534) == line


def test_a_file_in_place_of_the_store_is_reported(shop: Shop) -> None:
    source = shop.put("a.zip", archive("zip"))
    shop.folder.write_text("mine")
    assert shop.refusal(source).startswith(
        f"program 'prog' from {source} cannot be stored at {shop.folder}: "
    )


def _elsewhere(shop: Shop, source: str, *, bytes_max: int = 0, user: int = 0) -> str:
    words = [str(shop.folder), source, str(bytes_max), str(user)]
    for folder in (shop.around, *shop.around.parents):
        if user and folder.stat().st_uid == os.getuid() and folder.name.startswith("pytest-"):
            folder.chmod(0o755)
    return subprocess.run(
        [sys.executable, "-c", CODE, *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
