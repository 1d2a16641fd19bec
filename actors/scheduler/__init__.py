"""The scheduler: leadership, due schedules, and operations by hand."""
