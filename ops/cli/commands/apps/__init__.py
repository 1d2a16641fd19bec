"""Commands about apps."""
