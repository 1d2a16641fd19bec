"""Functions of users, in a thread or in a process."""
