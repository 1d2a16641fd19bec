"""End of the fork server, which would otherwise live as long as the test process."""

from collections.abc import Iterator

import pytest

from tests.crashes.victims import end_fork_server


@pytest.fixture(scope="session", autouse=True)
def no_fork_server_is_left() -> Iterator[None]:
    yield
    end_fork_server()
