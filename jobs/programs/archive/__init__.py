"""Archives of programs, unpacked with checks."""
