"""A saga of orders that wait for approval and may be locked or stuck, and the commands that tests run on it."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.ops.typist import Said, Typist

ORDERS = """
import time
from pathlib import Path

from sluice import Fatal, Step, Wait, saga

class Reserve(Step):
    def do(self, flight):
        flight.working["shelf"] = 7

    def undo(self, flight):
        if Path(f"{flight.key}.locked").exists():
            return Fatal("the warehouse is locked")

class Ask(Step):
    def do(self, flight):
        flight.progress(1, 2, name="asked")
        return Wait("approved", timeout=flight.inputs.get("within"))

class Pack(Step):
    def do(self, flight):
        while Path(f"{flight.key}.stuck").exists():
            time.sleep(0.05)

class Ship(Step):
    def do(self, flight):
        if not flight.events["approved"]["ok"]:
            raise ValueError("not approved")

@saga(job_id="{n}")
def order(flight):
    return [Reserve(), Ask(), Pack(), Ship()]

class Pause(Step):
    def do(self, flight):
        return Wait()

@saga(job_id="{n}")
def errand(flight):
    return [Pause()]
"""
#: Seconds that a command may take to begin a job on a busy machine.
BEGINS_WITHIN_S = 15


def drained(orders: Typist) -> None:
    assert orders.types("up", "--drain").code == 0


def waiting(orders: Typist, n: str, kwargs: str = "{}") -> None:
    """Bring an order to the state where it is reserved and waits for approval."""
    assert orders.types("submit", "order", n, "--kwargs", kwargs).code == 0
    drained(orders)


def approved(orders: Typist, n: str, payload: str = '{"ok": true}') -> Any:
    return orders.asks("resume", "order", n, "--event", "approved", "--payload", payload)


def saga_of(orders: Typist, n: str, app: str = "order") -> Mapping[str, Any]:
    """Return the saga in the document of ``show``."""
    found: Mapping[str, Any] = orders.asks("show", app, n)["saga"]
    return found


def course(saga: Mapping[str, Any]) -> str:
    """Return the journal as one line, with a word for each entry."""
    return " ".join(f"{each['direction']}{each['step']}:{each['result']}" for each in saga["journal"])


def why(orders: Typist, n: str) -> tuple[str, list[str]]:
    """Return the reason, and the commands of the remedies."""
    found = orders.asks("why", "order", n)
    return found["because"], [each["command"] for each in found["remedies"]]


def fatal(orders: Typist, n: str) -> Path:
    """Bring an order to the state ``fatal``. It cannot be undone as long as the returned file exists."""
    lock = orders.write(f"{n}.locked", "")
    waiting(orders, n)
    approved(orders, n, '{"ok": false}')
    drained(orders)
    return lock


def refused(said: Said) -> str:
    assert said.code == 2, said
    return f"{said.document['error']['what']} {said.document['error']['advice']}"


def reads(orders: Typist, n: str, entry: str) -> None:
    """Wait until the journal ends with this entry."""
    deadline = time.monotonic() + 30
    while not course(saga_of(orders, n)).endswith(entry):
        assert time.monotonic() < deadline
