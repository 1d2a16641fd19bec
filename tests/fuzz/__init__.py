"""Input that no client means to send, at every entry. Each ends in a clean refusal. A seed makes the same input."""
