"""Two-way functions that the definitions in tests name."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta

from sluice.jobs.keys.identifiers import Value, number_of_day, parse_day

Pair = tuple[str, object]


class Weeks:
    """Relation in which ``week {week}_{shop}``, for example 2026-W01, needs the seven ``day {date}_{shop}`` in it."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> Iterator[Pair]:
        if app == "week":
            monday = date.fromisoformat(f"{ids['week']}-1")
            for days in range(7):
                yield "day", {"date": monday + timedelta(days), "shop": ids["shop"]}

    def children(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        if app != "day":
            return []
        year, week, _ = parse_day(str(ids["date"])).isocalendar()
        return [("week", f"{year}-W{week:02}_{ids['shop']}")]


class Yesterday:
    """Relation in which each day needs the day before, from the second of January 2026 to the tenth."""

    first, last = 20260101, 20260110

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return self._beside(app, ids, -1)

    def children(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return self._beside(app, ids, 1)

    def _beside(self, app: str, ids: Mapping[str, Value], days: int) -> list[Pair]:
        other = number_of_day(parse_day(str(ids["date"])) + timedelta(days))
        return [(app, {"date": other})] if self.first <= other <= self.last else []


class PullOnly:
    """Relation in which ``c`` needs ``p`` of the same date. It has no function for the children of ``p``."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("p", ids)]


class Contradiction:
    """Contradictory relation, which names children and does not name their parents."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return []

    def children(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("c", ids)]


class Blind:
    """Relation that names the parents of ``c``, and raises an error for the children."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("p", ids)]

    def children(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        raise LookupError(f"what follows from {app}?")


class Ring:
    """Cycle in which 1 needs 2, 2 needs 3, and 3 needs 1."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [(app, {"x": int(ids["x"]) % 3 + 1})]


class Down:
    """Chain in which 1 needs 2, and 2 needs 3."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [(app, {"x": int(ids["x"]) + 1})] if int(ids["x"]) < 3 else []


class Shops:
    """Relation in which a work ID needs ``fetch {shop}``: odd numbers need oslo, even ones graz, and 7 needs both."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("fetch", {"shop": shop}) for shop in _shops(int(ids["work_id"]))]

    def children(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("score", {"work_id": each}) for each in range(1, 101) if ids["shop"] in _shops(each)]


def _shops(number: int) -> list[str]:
    return ["graz", "oslo"] if number == 7 else [["graz"], ["oslo"]][number % 2]


class DrawnPairs:
    """Relation that a test draws: pairs of a work ID of ``score`` and the key of a job of ``fetch``. ``hidden`` pairs
    are those that ``children`` does not name."""

    pairs: Iterable[tuple[int | str, str]] = ()
    hidden: Iterable[tuple[int | str, str]] = ()

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("fetch", key) for work_id, key in self.pairs if work_id == ids["work_id"]]

    def children(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        named = [pair for pair in self.pairs if pair not in self.hidden]
        return [("score", {"work_id": work_id}) for work_id, key in named if key == ids["shop"]]


class DrawnNeeds:
    """Relation that a test draws: pairs of the key of a job of ``report`` and a work ID of ``score`` that it needs.
    ``children`` does not name the ``hidden`` pairs, and only ``children`` names the ``invented`` pairs."""

    pairs: Iterable[tuple[str, int | str]] = ()
    hidden: Iterable[tuple[str, int | str]] = ()
    invented: Iterable[tuple[str, int | str]] = ()

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("score", {"work_id": work_id}) for key, work_id in self.pairs if key == ids["shop"]]

    def children(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        named = {*self.pairs, *self.invented}.difference(self.hidden)
        return [("report", key) for key, work_id in named if work_id == ids["work_id"]]


class Endless:
    """Function that never stops naming jobs."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> Iterator[Pair]:
        while True:
            yield "p", ids


class Misnaming:
    """Function that names a job of an app keyed by chunk in this way."""

    def __init__(self, named: object) -> None:
        self._named = named

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("fetch", "oslo")]

    def children(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("score", self._named)]


naming_a_chunk = Misnaming("1-3@7")
naming_several_ids = Misnaming({"work_id": [1, 3]})
naming_no_id = Misnaming({"work_id": True})
naming_another_id = Misnaming({"work_id": 2})


class Odd:
    """Function with an unusable answer, or an error instead of an answer."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def parents(self, app: str, ids: Mapping[str, Value]) -> object:
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


raising = Odd(ZeroDivisionError("by zero"))
naming_a_stranger = Odd([("stranger", {"date": 20260101})])
naming_a_bad_key = Odd([("p", {"date": "soon"})])
naming_too_little = Odd([("p", {})])
naming_a_score_chunk = Odd([("score", "1-3@7")])
naming_a_score_of_nothing = Odd([("score", {"work_id": True})])
answering_words = Odd(["p"])
answering_nothing = Odd(None)


_CUSTOMERS = {"graz": (2, 4), "oslo": (1, 3), "rome": (3, 4)}


class Scores:
    """Relation in which ``report {shop}`` needs ``score`` for the customers of the shop. Customers 3 and 4 have
    two shops."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("score", {"work_id": each}) for each in _CUSTOMERS[str(ids["shop"])]]

    def children(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("report", {"shop": shop}) for shop, of in _CUSTOMERS.items() if int(ids["work_id"]) in of]


class Ranks:
    """Relation of ``Scores``, with ``rank`` instead of ``score``."""

    def parents(self, app: str, ids: Mapping[str, Value]) -> list[Pair]:
        return [("rank", {"work_id": each}) for each in _CUSTOMERS[str(ids["shop"])]]
