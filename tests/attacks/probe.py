"""A probe: sound jobs that are submitted repeatedly during an attack."""

import json
import time
from itertools import count
from statistics import median
from threading import Event, Thread
from typing import NamedTuple

from tests.attacks.installation import Installation

#: Seconds between two submissions, and the minimum of submissions, however short the attack is.
PERIOD_S = 0.3
COUNT_MIN = 4
#: Seconds within which each of them has to start, on a machine that does other things as well.
START_WITHIN_S = 30.0

_NUMBERS = count(1)


class Starts(NamedTuple):
    """Seconds from the submissions to the starts of their jobs."""

    seconds: tuple[float, ...]

    @property
    def median_s(self) -> float:
        return median(self.seconds)

    @property
    def longest_s(self) -> float:
        return max(self.seconds)


class Probe:
    """Thread that submits by SQL, HTTP and message in turn, during its ``with`` block."""

    def __init__(self, place: Installation) -> None:
        self._place = place
        self._submitted: dict[int, float] = {}
        self._is_over = Event()
        self._thread = Thread(target=self._work, daemon=True)
        self._error: BaseException | None = None

    def __enter__(self) -> "Probe":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def starts(self) -> Starts:
        """Return the times of a probe that has ended. AssertionError if a job did not start and succeed."""
        if self._error is not None:
            raise AssertionError(f"a sound submission was not taken: {self._error!r}") from self._error
        keys = [str(number) for number in self._submitted]
        asked = "SELECT key, state FROM job WHERE app = 'probe' AND key = ANY (%s)"
        self._place.wait(
            lambda: [state for _, state in self._place.asks(asked, keys)] == ["succeeded"] * len(keys),
            within_s=START_WITHIN_S,
            explain=lambda: f"of {keys}: {self._place.asks(asked, keys)}",
        )
        began = {number: float((self._place.probes / str(number)).read_text()) for number in self._submitted}
        found = Starts(tuple(began[number] - at for number, at in self._submitted.items()))
        assert found.longest_s < START_WITHIN_S, f"a sound job started after {found.longest_s:.1f} s"
        return found

    def _work(self) -> None:
        try:
            with self._place.sender() as sender, self._place.connect("submitter") as connection:
                ways = (
                    lambda request: connection.execute(
                        "SELECT sluice.submit(%s::jsonb)", (json.dumps(request),)
                    ),
                    self._by_http,
                    sender.submits,
                )
                while not self._is_over.wait(PERIOD_S) or len(self._submitted) < COUNT_MIN:
                    number = next(_NUMBERS)
                    self._submitted[number] = time.time()
                    ways[number % len(ways)]({"app": "probe", "key": str(number)})
                    if self._is_over.is_set():
                        time.sleep(PERIOD_S)
        except Exception as error:  # ``starts`` raises it, in the thread that can fail the test.
            self._error = error

    def _by_http(self, request: dict[str, str]) -> None:
        answer = self._place.operator.posts("/api/submissions", request)
        assert answer.status == 202, answer
