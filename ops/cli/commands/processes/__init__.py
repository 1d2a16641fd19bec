"""Commands that run workers and other processes, or show the state of the installation."""
