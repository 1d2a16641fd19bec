"""Plans of statements that the connections of a process keep, and when they are dropped.

Postgres makes a kept plan for the sizes that the tables have at that time. It makes it again only when a table has been
analyzed, which autovacuum does up to a minute after a table has grown. While a table is small, reading all of it looks
as cheap as a few look-ups, and a vacuumed table without rows seems to cost nothing. When 60,000 jobs came to such a
ledger, a chain of three jobs took ten times as long. So each process looks at the size of ``job`` with each heartbeat.

The other tables grow with ``job``. Their sizes are not read, because a heartbeat would wait while such a table is
locked, and the lease would end meanwhile. It reads ``job`` anyway.
"""

from sluice.ledger.database.driver import CursorConnection, PreparedConnection

#: SQL that reads the size of ``job`` in bytes.
SIZE = "SELECT pg_relation_size('job')"
#: Growth of ``job`` after which plans are dropped.
GROWTH = 4
#: Size in bytes, some 300 jobs, that is not worth a new plan.
SMALL = 128 * 1024


class KeptPlans:
    """Decision of a process to drop the plans of its connections."""

    def __init__(self) -> None:
        #: The smallest size for which a plan may have been made.
        self._smallest: int | None = None
        self._drops = 0

    def compare(self, size: int) -> None:
        """Have all plans dropped if a plan may have been made for a much smaller ``job``."""
        if self._smallest is None or size < self._smallest:
            self._smallest = size
        elif size > GROWTH * max(self._smallest, SMALL):
            self._smallest = size
            self._drops += 1

    def renew(self, connection: CursorConnection) -> None:
        """Drop the plans of this connection if that is due. Each is made again when its statement runs."""
        if connection.plan_drops != self._drops and isinstance(connection, PreparedConnection):
            connection.drop_plans(self._drops)
