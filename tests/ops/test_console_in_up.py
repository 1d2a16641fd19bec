"""The console of ``sluice up``, which runs beside the work and never stops it."""

import json
import re
import signal
import socket

from sluice.jobs.states import State
from tests.ops.caller import Caller, printed
from tests.ops.typist import Typist, ended


def test_a_submission_to_the_console_runs_in_the_same_process(desk_of_module: Typist) -> None:
    with desk_of_module.starts("up", "--listen", "127.0.0.1:0") as up:
        assert up.stdout
        told = next(line for line in up.stdout if "console" in line)
        caller = printed(told)
        assert Caller(caller.port).posts("/api/submissions", {"app": "report", "key": "1"}).status == 401
        assert caller.posts("/api/submissions", {"app": "report", "key": "20261106"}).status == 202
        desk_of_module.waits_until("report", "20261106", State.SUCCEEDED)
        assert caller.reads("/api/jobs/report/20261106")["state"] == "succeeded"
        assert len(caller.reads("/api/workers")) == 1
        up.send_signal(signal.SIGTERM)
        assert ended(up).code == 0


def test_the_work_continues_if_the_port_is_taken(desk_of_module: Typist) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        desk_of_module.asks("submit", "nap", "1")
        said = desk_of_module.types("up", "--drain", "--listen", place)
    assert said.code == 0
    (refused, succeeded) = said.err.splitlines()
    assert f"The console cannot listen at http://{place}" in refused
    assert re.search(r"INFO +sluice.runs: nap/1 succeeded in [0-9.]+ s$", succeeded)
    assert desk_of_module.asks("show", "nap", "1")["state"] == "succeeded"


def test_a_draining_up_has_no_console(desk_of_module: Typist) -> None:
    for words in (["--drain"], ["--drain", "--no-console"]):
        assert json.loads(desk_of_module.types("up", *words, "--json").out)["console"] is None


def test_a_public_address_needs_a_token(desk_of_module: Typist) -> None:
    said = desk_of_module.types("up", "--listen", "0.0.0.0:0")
    assert (said.code, "there is no token" in said.err, said.out) == (2, True, "")
    assert desk_of_module.types("up", "--listen", "nowhere").code == 2
    assert desk_of_module.types("up", "--listen", "127.0.0.1:0", "--no-console").code == 2
