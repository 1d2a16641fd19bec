"""Sources of definitions: files, modules and servers, and the functions that they name."""
