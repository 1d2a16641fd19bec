"""Observation of the installation: metrics, the overview page, and findings of ``sluice doctor``."""
