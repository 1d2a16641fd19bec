"""A worker process: startup, queues, heartbeat, definitions and logs."""
