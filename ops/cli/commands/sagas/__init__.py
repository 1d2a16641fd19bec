"""Commands about sagas."""
