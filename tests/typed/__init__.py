"""Type checks of programs that use Sluice, by mypy and by pyright."""
