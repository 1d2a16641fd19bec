"""Helpers that query an embedded server, and that inspect the home with its data."""

from pathlib import Path
from typing import Any

import psutil
import psycopg


def tell(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement)


def ask(url: str, query: str) -> Any:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    return row[0] if row else None


def word(url: str) -> str:
    return ask(url, "SELECT word FROM word")


def postmaster(home: Path) -> psutil.Process:
    return psutil.Process(int((home / "postgres/data/postmaster.pid").read_text().split()[0]))


def has_ended(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def is_stopped(home: Path) -> bool:
    return not (home / "postgres/data/postmaster.pid").exists()
