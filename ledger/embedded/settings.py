"""How the server is set: on its command line, so that the code says it all and no older file contradicts."""

from pathlib import Path

from sluice.ledger.embedded.sockets import PORT

ALWAYS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    # Small: the ledger shares a machine with the jobs it keeps.
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    # Nobody replicates from it, so the log of changes holds what recovery needs and no more.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    # Clients hear of their own errors. With these out of it, the log grows with starts and stops alone, and
    # rolling it at a start keeps it small; Postgres's own collector would cost a process more.
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%m [%p] ",
    "log_min_messages": "log",
    "log_checkpoints": "off",
}

FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""For tests: a crash of the machine may cost the whole database. A crash of the server costs nothing."""

SINCE_18 = {"io_method": "sync"}
"""Three helper processes less."""


def settings(listening: Path, major: int, *, durable: bool) -> list[str]:
    """The arguments for a server that listens in the given folder."""
    folder = str(listening).replace('"', '""')
    chosen = ALWAYS | {"unix_socket_directories": f'"{folder}"'}
    chosen |= {} if durable else FORGETFUL
    chosen |= SINCE_18 if major >= 18 else {}
    return [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
