"""Sluice as its users install it."""
