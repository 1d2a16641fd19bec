"""Recovery: leases, jobs due for the groomer, check and repair of the ledger, and continuing after a restore."""
