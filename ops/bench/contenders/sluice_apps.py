"""Apps that Sluice's workers run: their jobs only leave a mark."""

from collections.abc import Mapping, Sequence

from sluice import app
from sluice.ops.bench.shapes import BLOCKED, CHAIN, CHILDREN, LAYERS, LIMIT, LIMITED, WAITING, WIDTH, needs_of
from sluice.ops.bench.timestamps import marker

mark = marker()
#: Jobs of a fan: its root, its children, and the job that needs all of them.
OF_A_FAN = CHILDREN + 2
ONE = {"n": "int"}
FAN = {"fan": "int"}
Ids = Mapping[str, int]
Named = Sequence[tuple[str, Ids]]


@app(name="bench_flat", job_id="{n}", identifiers=ONE)
def flat(n: int) -> None:
    mark(n)


@app(name=LIMITED, job_id="{n}", identifiers=ONE, concurrency=LIMIT)
def limited(n: int) -> None:
    mark(n)


@app(
    name="bench_gate",
    job_id="{gate}",
    autofill_values={"gate": [0]},
    start_after="9000-01-01T00:00:00Z",
)
def gate(gate: int) -> None:
    mark(-1 - gate)


@app(
    name=BLOCKED,
    job_id="{n}",
    identifiers=ONE,
    autofill_values={"n": f"0:{WAITING}"},
    depends_on={"app_name": ["bench_gate"]},
)
def blocked(n: int) -> None:
    mark(-2 - n)


class Before:
    """Dependencies of the chain: each job needs the job before it."""

    def parents(self, app: str, ids: Ids) -> Named:
        return [(app, {"n": ids["n"] - 1})] if ids["n"] > 0 else []

    def children(self, app: str, ids: Ids) -> Named:
        return [(app, {"n": ids["n"] + 1})] if ids["n"] + 1 < CHAIN else []


@app(
    name="bench_chain",
    job_id="{n}",
    identifiers=ONE,
    depends_on={"_func": f"{__name__}:Before", "app_name": ["bench_chain"]},
)
def chain(n: int) -> None:
    mark(n)


@app(name="bench_root", job_id="{fan}", identifiers=FAN)
def root(fan: int) -> None:
    mark(fan * OF_A_FAN)


@app(
    name="bench_child",
    job_id="{fan}_{n}",
    identifiers=FAN | ONE,
    autofill_values={"n": f"0:{CHILDREN}"},
    depends_on={"app_name": ["bench_root"]},
)
def child(fan: int, n: int) -> None:
    mark(fan * OF_A_FAN + 1 + n)


@app(name="bench_sum", job_id="{fan}", identifiers=FAN, depends_on={"app_name": ["bench_child"], "n": "all"})
def total(fan: int) -> None:
    mark(fan * OF_A_FAN + CHILDREN + 1)


class LayerBefore:
    """Dependencies of the layers: each job needs three jobs of the layer before it."""

    def parents(self, app: str, ids: Ids) -> Named:
        layer = ids["layer"] - 1
        return [(app, {"layer": layer, "n": n}) for n in needs_of(ids["n"])] if layer >= 0 else []

    def children(self, app: str, ids: Ids) -> Named:
        layer = ids["layer"] + 1
        places = [n for n in range(WIDTH) if ids["n"] in needs_of(n)]
        return [(app, {"layer": layer, "n": n}) for n in places] if layer < LAYERS else []


@app(
    name="bench_layers",
    job_id="{layer}_{n}",
    identifiers={"layer": "int"} | ONE,
    depends_on={"_func": f"{__name__}:LayerBefore", "app_name": ["bench_layers"]},
)
def cell(layer: int, n: int) -> None:
    mark(layer * WIDTH + n)


@app(name="bench_top", job_id="{n}", identifiers=ONE)
def top(n: int) -> None:
    mark(4 * n)


@app(name="bench_left", job_id="{n}", identifiers=ONE, depends_on={"app_name": ["bench_top"]})
def left(n: int) -> None:
    mark(4 * n + 1)


@app(name="bench_right", job_id="{n}", identifiers=ONE, depends_on={"app_name": ["bench_top"]})
def right(n: int) -> None:
    mark(4 * n + 2)


@app(
    name="bench_bottom", job_id="{n}", identifiers=ONE, depends_on={"app_name": ["bench_left", "bench_right"]}
)
def bottom(n: int) -> None:
    mark(4 * n + 3)
