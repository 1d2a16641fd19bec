"""Settings: their sources, their values, and checks of transport security."""
