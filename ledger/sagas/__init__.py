"""Sagas: journals, events, waits, the undoing of effects, and the compensation of effects across apps."""
