"""What an installed Sluice has beside the package ``sluice``, so that ``python -m actors.worker`` starts a worker."""
