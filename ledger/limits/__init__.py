"""Limits on running jobs: pools, pauses, circuit breakers, retry budgets, and the order in which jobs start."""
