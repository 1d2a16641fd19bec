"""Errors of a function after which a job is tried again, and errors after which it is not."""

from msgspec import Struct


class RetriedErrors(Struct, frozen=True):
    """Dotted names of classes: ``acme.errors.ApiDown``. A built-in class may be written without its module.

    A class also matches errors of its subclasses. If ``only`` is empty, every error is retried that ``never`` does not
    match.
    """

    only: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def excludes(self, error: BaseException) -> bool:
        """Return whether the job fails at once because of this error, even if it has tries left."""
        if not (self.only or self.never):
            return False
        names = {f"{each.__module__}.{each.__qualname__}" for each in type(error).__mro__}
        names |= {name.removeprefix("builtins.") for name in names}
        return not names.isdisjoint(self.never) or (bool(self.only) and names.isdisjoint(self.only))
