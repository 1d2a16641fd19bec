"""Definitions to read and to run: ``sluice --apps jobs.examples.shops run report 20261120``."""
