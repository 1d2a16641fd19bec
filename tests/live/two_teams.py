"""Apps of two teams that share workers. Their jobs only wait, so the number of slots limits them, not the processor."""

import time

from sluice import app, each


@app(tenant="flooding")
def flood(n: int = each(range(100_000))) -> None:
    time.sleep(0.1)


@app(tenant="small")
def small(n: int) -> None:
    time.sleep(0.2)
