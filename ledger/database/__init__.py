"""Access to the database: connections, transactions, statements of transitions, and notifications."""
