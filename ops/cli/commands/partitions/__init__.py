"""Commands about partitions and the age of results."""
