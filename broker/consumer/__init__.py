"""Consumption of messages: the thread that takes them, slots, settlement, and the service of a process."""
