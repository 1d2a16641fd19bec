"""Limits on running jobs: pools, pauses, circuit breakers and retry budgets."""
