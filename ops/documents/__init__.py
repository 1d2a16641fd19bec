"""JSON documents of jobs, apps, plans, sagas and workers, as commands and calls return them."""
