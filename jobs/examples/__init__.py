"""Definitions to read and to run: ``sluice --apps sluice.jobs.examples.shops run report 20261120``."""
