"""Hostile input at every entry. Each input ends in a clean refusal. A seed always makes the same input."""
