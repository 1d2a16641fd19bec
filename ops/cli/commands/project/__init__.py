"""Commands for projects and developers: projects from templates, completion, benchmarks."""
