"""Storage parameters of the tables that change most. All other tables have the defaults of the server.

The server's defaults wait until a fifth of a table is dead, and pause so often that a vacuum of ``job`` takes hours. So
a table that doubles in a burst stays at twice its size, and all scans read the dead rows too.

- The server looks at each table once in ``autovacuum_naptime``, by default once a minute. No parameter of a table
  changes that.
- ``fillfactor`` leaves room on each page for the new version of its rows. If no indexed column changes either, such an
  update writes no index (HOT), and later transactions remove the old version without a vacuum.
"""

from collections.abc import Mapping

#: Tables with rows that change several times: vacuum and statistics after a twentieth, without pauses. At several
#: thousand jobs a second, each second leaves more than 10,000 dead rows, which the default pauses do not keep up with.
CHANGED: Mapping[str, object] = {
    "autovacuum_vacuum_scale_factor": 0.05,
    "autovacuum_vacuum_cost_delay": 0,
    "autovacuum_analyze_scale_factor": 0.05,
}
#: Tables with rows that are only added, and removed by retention. Inserts trigger a vacuum too, which freezes new rows
#: while they are in memory, and lets index-only scans skip the table.
ADDED: Mapping[str, object] = {
    "autovacuum_vacuum_scale_factor": 0.05,
    "autovacuum_vacuum_insert_scale_factor": 0.05,
    "autovacuum_vacuum_cost_delay": 0,
    "autovacuum_analyze_scale_factor": 0.05,
}
#: Tables with rows that are removed soon after they were added. After a burst they are nearly empty, so a share of
#: their rows means little: vacuum after 1,000 dead rows.
QUEUE: Mapping[str, object] = {
    "autovacuum_vacuum_scale_factor": 0,
    "autovacuum_vacuum_threshold": 1000,
    "autovacuum_vacuum_cost_delay": 0,
}
#: Tables of few rows of which each changes about once a second. Half of each page stays free for new versions.
COUNTERS: Mapping[str, object] = {"fillfactor": 50}
