"""Names and contexts by which runs are observed and tested: failpoints, log fields, traces."""
