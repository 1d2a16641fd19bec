"""Submissions about work IDs that are not planned immediately, have no work IDs, or are refused."""

from typing import Any, NamedTuple


class Wait(NamedTuple):
    """Submission that may have to wait. ``busy`` has the chunks in progress, and ``waits_for`` the apps that it waits
    for. If ``waits_for`` is empty, it is planned immediately."""

    apps: str
    asked: str
    busy: str
    waits_for: str = ""
    known: str = ""
    ran: str = ""


WAITS: dict[str, Wait] = {
    "the dependency is in progress": Wait("A=2: B; B=2", "A 1,2", "B[1,2]", "B"),
    "the dependency is in progress on a single ID": Wait("A=2: B; B=2", "A 1,2", "B[2]", "B"),
    "the dependency is in progress on some of the IDs and on other IDs": Wait(
        "A=4: B; B=2", "A 1-4", "B[4-9]", "B"
    ),
    "the dependency is in progress on other IDs only": Wait("A=2: B; B=2", "A 1,2", "B[3,4]"),
    "the dependency is in progress on IDs in the gaps of a run": Wait("A=9: B; B=2", "A 1,3,5", "B[2,4]"),
    "the dependency is in progress on texts": Wait("A=2: B; B=2", "A a,b", "B[b,c]", "B"),
    "a dependency that always runs is in progress": Wait(
        "A=2: B(0); B=2", "A 1,2", "B[1,2]", "B", known="B[1,2] 0s"
    ),
    "an indirect dependency is in progress": Wait("A=2: B; B=2: D; D=2: E; E=2", "A 1,2", "E[1]", "E"),
    "two dependencies are in progress": Wait("A=2: B, C; B=2; C=2", "A 1,2", "B[1,2]; C[1,2]", "B C"),
    "the second of two dependencies is in progress": Wait("A=2: B, C; B=2; C=2", "A 1,2", "C[1,2]", "C"),
    "the dependency is in progress, but need not run, because it is fresh": Wait(
        "A=2: B; B=2", "A 1,2", "B[1,2]", known="B[1,2] 5m"
    ),
    "the dependency is in progress, but need not run, because it ran on any IDs": Wait(
        "A=2: B(any); B=2", "A 1,2", "B[1,2]", ran="B 5m"
    ),
    "the dependency is in progress on its fresh chunk, and not on its stale chunk": Wait(
        "A=4: B; B=2", "A 1-4", "B[1,2]", known="B[1,2] 5m"
    ),
    "a dependency of a fresh chunk is in progress": Wait(
        "A=2: B; B=2: E; E=2", "A 1,2", "E[1,2]", known="B[1,2] 5m"
    ),
    "the requested app itself is in progress, and runs again": Wait("A=2", "A 1,2", "A[1,2]"),
    "an unrelated app is in progress": Wait("A=2: B; B=2; C=2", "A 1,2", "C[1,2]"),
    "an app that depends on the requested app is in progress": Wait("A=2; B=2: A", "A 1,2", "B[1,2]"),
}


class Nothing(NamedTuple):
    """Submission of an app ``A`` without work IDs. ``words`` are its fields as another program sends them."""

    apps: str
    words: dict[str, Any]


NOTHING: dict[str, Nothing] = {
    "the app selects no work IDs": Nothing("A=2 select=nothing: B", {}),
    "the submission has an empty list of work IDs": Nothing("A=2 select=two: B", {"work_ids": []}),
}


class Refusal(NamedTuple):
    """Submission that is refused. ``says`` is a part of the reason."""

    apps: str
    words: dict[str, Any]
    says: str


REFUSED: dict[str, Refusal] = {
    "fractions": Refusal(
        "A=2", {"work_ids": [1.5, 2.5, 3.5]}, "1.5 is no work ID; work IDs are whole numbers or texts"
    ),
    "neither work IDs nor a selection": Refusal("A=2", {}, "A has no select_work"),
    "selecting fails": Refusal("A=2 select=broken", {}, "ConnectionError: the shop does not answer"),
    "words of partitions": Refusal(
        "A=2", {"start": "2024-04-01", "end": "2024-04-02"}, "A is keyed by chunk"
    ),
    "a chunk that does not exist": Refusal("A=2", {"key": "1-2@7"}, "There is no chunk A/1-2@7"),
}
