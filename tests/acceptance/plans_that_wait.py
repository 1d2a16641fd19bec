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
    "the dependency is under way": Wait("A=2: B; B=2", "A 1,2", "B[1,2]", "B"),
    "it is, on one of the IDs": Wait("A=2: B; B=2", "A 1,2", "B[2]", "B"),
    "it is, on some of the IDs and on others": Wait("A=4: B; B=2", "A 1-4", "B[4-9]", "B"),
    "it is, on quite other IDs": Wait("A=2: B; B=2", "A 1,2", "B[3,4]"),
    "it is, on the other IDs of a run with gaps": Wait("A=9: B; B=2", "A 1,3,5", "B[2,4]"),
    "it is, on texts": Wait("A=2: B; B=2", "A a,b", "B[b,c]", "B"),
    "it always runs, and is under way": Wait("A=2: B(0); B=2", "A 1,2", "B[1,2]", "B", known="B[1,2] 0s"),
    "what it depends on is, to any depth": Wait("A=2: B; B=2: D; D=2: E; E=2", "A 1,2", "E[1]", "E"),
    "two are": Wait("A=2: B, C; B=2; C=2", "A 1,2", "B[1,2]; C[1,2]", "B C"),
    "one of two is": Wait("A=2: B, C; B=2; C=2", "A 1,2", "C[1,2]", "C"),
    "it is, and would not run here, for it is fresh": Wait(
        "A=2: B; B=2", "A 1,2", "B[1,2]", known="B[1,2] 5m"
    ),
    "it is, and would not run here, for it ran as a whole": Wait(
        "A=2: B(any); B=2", "A 1,2", "B[1,2]", ran="B 5m"
    ),
    "it is, on the chunk that is fresh and not on the one that is stale": Wait(
        "A=4: B; B=2", "A 1-4", "B[1,2]", known="B[1,2] 5m"
    ),
    "it is, behind what is fresh": Wait("A=2: B; B=2: E; E=2", "A 1,2", "E[1,2]", known="B[1,2] 5m"),
    "the app itself is, which is asked for by name and so runs again": Wait("A=2", "A 1,2", "A[1,2]"),
    "an app is that has nothing to do with it": Wait("A=2: B; B=2; C=2", "A 1,2", "C[1,2]"),
    "an app is that depends on the one that is asked for": Wait("A=2; B=2: A", "A 1,2", "B[1,2]"),
}


class Nothing(NamedTuple):
    """Submission of an app ``A`` without work IDs. ``words`` are its fields as another program sends them."""

    apps: str
    words: dict[str, Any]


NOTHING: dict[str, Nothing] = {
    "the app selects none": Nothing("A=2 select=nothing: B", {}),
    "the submission names none": Nothing("A=2 select=two: B", {"work_ids": []}),
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
    "nobody says which": Refusal("A=2", {}, "A has no select_work"),
    "selecting fails": Refusal("A=2 select=broken", {}, "ConnectionError: the shop does not answer"),
    "words of partitions": Refusal(
        "A=2", {"start": "2024-04-01", "end": "2024-04-02"}, "A is keyed by chunk"
    ),
    "a chunk that nobody has made": Refusal("A=2", {"key": "1-2@7"}, "There is no chunk A/1-2@7"),
}
