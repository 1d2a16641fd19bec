"""Submissions of a run, drawn from the seed. Most keys are new; some were requested before."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sluice.jobs.model.submission import Submission

_FIRST_DAY = datetime(1970, 1, 1, tzinfo=UTC)
#: Days of one request, and days between the first days of two requests. They overlap.
_DAYS, _APART = 14, 5


class Workload:
    """Endless sequence of submissions that depends only on the seed. It begins with one submission per shape."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(f"{seed}/workload")
        self._number = 0
        self._first = [shape for shape, _ in SHAPES]
        self._rng.shuffle(self._first)

    def next(self) -> Submission:
        self._number += 1
        shapes = [shape for shape, _ in SHAPES]
        drawn = self._rng.choices(shapes, [weight for _, weight in SHAPES])[0]
        shape = self._first.pop() if self._first else drawn
        return shape(f"s{self._number}", self._number - self._rng.choice((0, 0, 0, 0, 0, 1, 2)), self._rng)


def _diamond(id_: str, number: int, rng: random.Random) -> Submission:
    return _either(id_, number, rng, "crown", "foot")


def _chain(id_: str, number: int, rng: random.Random) -> Submission:
    return _either(id_, number, rng, "link0", "link4")


def _fan(id_: str, number: int, rng: random.Random) -> Submission:
    return _either(id_, number, rng, "root", "crop")


def _either(id_: str, number: int, rng: random.Random, first: str, last: str) -> Submission:
    """Return a submission of the first app, which triggers the others, or of the last one, which pulls them."""
    if rng.random() < 0.5:
        return Submission(id=id_, app=first, key=str(number))
    return Submission(id=id_, app=last, key=str(number), push="wanted")


def _chunks(id_: str, number: int, rng: random.Random) -> Submission:
    return Submission(id=id_, app="report", work_ids=f"{number * 6}-{number * 6 + 8}", push="wanted")


def _partitions(id_: str, number: int, rng: random.Random) -> Submission:
    first = _FIRST_DAY + timedelta(days=number // 20 * _APART)
    last = first + timedelta(days=_DAYS - 1)
    return Submission(id=id_, app="cleanse", start=f"{first:%Y-%m-%d}", end=f"{last:%Y-%m-%d}", push="wanted")


def _anew(id_: str, number: int, rng: random.Random) -> Submission:
    """Return a rerun of a key that was mostly requested a while ago, alone or with its downstream jobs."""
    app, rerun = rng.choice(("crown", "link0", "nap", "stamp")), rng.choice(("job", "downstream"))
    return Submission(id=id_, app=app, key=str(max(1, number - rng.randrange(1, 40))), rerun=rerun)


def _alone(app: str) -> "_Shape":
    def shape(id_: str, number: int, rng: random.Random) -> Submission:
        return Submission(id=id_, app=app, key=str(number))

    return shape


_Shape = Callable[[str, int, random.Random], Submission]
SHAPES: tuple[tuple[_Shape, float], ...] = (
    (_diamond, 35),
    (_chain, 25),
    (_fan, 6),
    (_chunks, 8),
    (_partitions, 5),
    (_alone("voyage"), 10),
    (_alone("nap"), 8),
    (_alone("stamp"), 6),
    (_alone("narrow"), 6),
    (_alone("brittle"), 4),
    (_alone("cell"), 1),
    (_alone("errand"), 1),
    (_alone("chore"), 1),
    (_anew, 5),
)
