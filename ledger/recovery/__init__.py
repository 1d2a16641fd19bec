"""Recovery: leases, jobs due for the groomer, repair of derived data, and continuing after a restore."""
