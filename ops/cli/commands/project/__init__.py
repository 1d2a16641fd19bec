"""Commands for projects and developers: a starter, completion, benchmarks."""
