"""Handlers of the planner: admission, planning of each keyspace, bubble up and bubble down, events, pauses."""
