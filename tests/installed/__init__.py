"""Tests of an installed Sluice."""
