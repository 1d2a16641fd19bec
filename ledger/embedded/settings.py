"""Settings of the server. They are passed on its command line, so that the code is complete and overrides older
files."""

from pathlib import Path

from sluice.ledger.embedded.directory import PORT

ALWAYS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "timezone": "UTC",
    # Small, because the ledger shares a machine with its jobs.
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    # There is no replication, so the write-ahead log only has to serve recovery.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    # Clients get their own errors, so the log omits these. It then grows only with starts and stops, and rotating it at
    # a start keeps it small. The log collector of Postgres would cost an additional process.
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%m [%p] ",
    "log_min_messages": "log",
    "log_checkpoints": "off",
}

#: For tests: a crash of the machine may lose the whole database. A crash of the server loses nothing.
FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

#: Saves three helper processes.
SINCE_18 = {"io_method": "sync"}


def settings(listening: Path, major: int, *, durable: bool) -> list[str]:
    """Return the arguments for a server that listens in the given folder."""
    folder = str(listening).replace('"', '""')
    chosen = ALWAYS | {"unix_socket_directories": f'"{folder}"'}
    chosen |= {} if durable else FORGETFUL
    chosen |= SINCE_18 if major >= 18 else {}
    return [part for name, value in chosen.items() for part in ("-c", f"{name}={value}")]
