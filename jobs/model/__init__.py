"""Types that describe apps, jobs, plans, submissions and their outcomes."""
