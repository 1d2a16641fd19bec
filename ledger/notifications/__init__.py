"""Events of jobs that receivers are notified of: who gets them, and their deliveries."""
