"""Faults in the options of an app with the job type ``saga``."""

from collections.abc import Iterator
from typing import Any

from tests.jobs.catalogue.faulty_apps import Fault, app

SAGA = {"job_type": "saga", "function": f"{__name__}:steps"}


def steps(flight: object) -> list[object]:
    return []


def two(flight: object, more: object, /) -> list[object]: ...


def stairs(flight: object) -> Iterator[object]:
    yield flight


async def later(flight: object) -> list[object]: ...


class Steps(list[object]): ...


class Deaf:
    """Class without any method of a hook."""


class Dreams:
    """Hook with an async method and a generator, which Sluice does not await."""

    async def start_step(self, flight: object) -> None: ...

    def end_step(self, flight: object, answer: str) -> Iterator[None]:
        yield


class Watches:
    """Class of hooks with a constructor that accepts no flight."""

    def end_flight(self, flight: object, landing: str) -> None: ...


class Answers:
    async def __call__(self, flight: object) -> object: ...


dreams, answers = Dreams(), Answers()


async def desk() -> object: ...


def watches() -> object: ...


def _saga(**words: Any) -> dict[str, Any]:
    return app(**SAGA, **words)


def _built_by(name: str) -> dict[str, Any]:
    return app(job_type="saga", function=f"{__name__}:{name}")


_IN_A_THREAD = "it runs in a thread of the worker, which cannot have"

FAULTS_OF_SAGAS: dict[str, Fault] = {
    # The function that makes its steps.
    "a saga without a function": (app(job_type="saga"), "an app of job_type saga needs its function"),
    "a saga with a missing function": (_built_by("stepps"), f"{__name__} has no function 'stepps'"),
    "a saga with a function that is no path": (
        app(job_type="saga", function=7),
        "function: write package.module",
    ),
    "a saga that is a class": (_built_by("Steps"), "function: Steps is a class; a saga is made by a"),
    "a saga that is a generator": (_built_by("stairs"), "function: stairs yields its steps; return a list"),
    "a saga that waits for its steps": (_built_by("later"), "function: later is async"),
    "a saga with an identifier that cannot be passed by name": (
        _built_by("two"),
        "function: two has to take the flight first, and everything else by name",
    ),
    "a job type that is nearly a saga": (app(job_type="sage"), "(did you mean saga?)"),
    # Options.
    "a misspelled option of a saga": (_saga(hook=[]), "unknown option 'hook' (did you mean hooks?)"),
    "hooks that are no list": (
        _saga(hooks=f"{__name__}:Deaf"),
        "is no list of hooks; write [package.module:name]",
    ),
    "a hook that is not there": (_saga(hooks=["os.path:joyn"]), "hooks: os.path has no 'joyn'"),
    "a hook that is no path": (_saga(hooks=["join"]), "hooks: 'join' is not the path of"),
    "a hook that hears nothing": (_saga(hooks=[f"{__name__}:Deaf"]), "has none of start_flight, end_flight"),
    "a hook that is nothing": (_saga(hooks=[None]), "hooks: None is no hook"),
    "a hook that would have to be awaited": (
        _saga(hooks=[f"{__name__}:dreams"]),
        "hooks: start_step, end_step of Dreams is async, and hooks are not awaited; make it a def",
    ),
    "a class of hooks that would have to be awaited": (
        _saga(hooks=[f"{__name__}:Dreams"]),
        "hooks: start_step, end_step of Dreams is async",
    ),
    "a hook that would be made some time": (_saga(hooks=[f"{__name__}:later"]), "hooks: later is async"),
    "an object that would make a hook some time": (
        _saga(hooks=[f"{__name__}:answers"]),
        "hooks: Answers is async",
    ),
    "a class of hooks that takes no flight": (
        _saga(hooks=[f"{__name__}:Watches"]),
        "hooks: Watches has to take one argument, the flight: it is called for the hook of each run",
    ),
    "a maker of hooks that takes no flight": (
        _saga(hooks=[f"{__name__}:watches"]),
        "hooks: watches has to take one argument",
    ),
    "a context that would have to be awaited": (
        _saga(context=f"{__name__}:desk"),
        "context: desk is async, and the shared context of all flights is not awaited; make it a def",
    ),
    "a context that is not there": (_saga(context="os.path:joyn"), "context: os.path has no function 'joyn'"),
    "a context that is no function": (
        _saga(context=7),
        "context: 7 is neither a function nor the path of one",
    ),
    "a context that wants arguments": (
        _saga(context="os.path:join"),
        "context: join must take no arguments",
    ),
    # Options of other job types and keyspaces.
    "a saga in a process": (_saga(isolate=True), "an app of job_type saga has no isolate"),
    "a command for a saga": (_saga(bash_cmd="true"), "an app of job_type saga has no bash_cmd"),
    "a program for a saga": (_saga(program="p"), "an app of job_type saga has no program"),
    "hooks for a command": (app(bash_cmd="true", hooks=[]), "an app of job_type bash has no hooks"),
    "a context for a function": (
        app(function="os.path:join", context="os:getcwd"),
        "job_type python has no context",
    ),
    "a saga that never ends": (
        _saga(is_long_running=True),
        "is_long_running: an app of job_type saga runs in",
    ),
    "a saga about work IDs": (
        {"a": {**SAGA, "chunk_size": 5, "dependencies": []}},
        "chunk_size, dependencies: a saga runs for one key; give it a job_id",
    ),
    "a saga about partitions": (
        {"a": {**SAGA, "step_size": 5}},
        "step_size: a saga runs for one key; give it a job_id",
    ),
    # Policy.
    "an environment for a saga": (
        _saga(env={"A": "1"}),
        f"env: {_IN_A_THREAD} one of its own; a step can pass it to the processes that it starts",
    ),
    "a folder for a saga": (_saga(cwd="/tmp"), f"cwd: {_IN_A_THREAD}"),
    "limits for a saga": (_saga(limits={"cpu": 1}), f"limits: {_IN_A_THREAD}"),
    "an output of a saga": (_saga(keep_output=True), "keep_output: output of a thread of the worker"),
    "an exit code of a saga": (_saga(fail_on="exit"), "fail_on: it does not apply to a saga: it has neither"),
    "a limit to how often a saga recovers": (_saga(max_losses=3), "max_losses: it does not apply to a saga"),
    "timeouts of a saga": (
        _saga(max_timeouts=1),
        "max_timeouts: it does not apply to a saga: a flight over its",
    ),
    # Debugging.
    "debugging for a command": (
        app(bash_cmd="true", debug={"fail_last": True}),
        "an app of job_type bash has no debug",
    ),
    "debugging for a mode": (
        {"a": {"step_size": 1, "modes": {"live": {"debug": {"fail_last": True}}}}},
        "modes: live: debug: it makes steps fail, and only a saga has steps",
    ),
    "debugging that is no mapping": (_saga(debug=True), "debug: True is no mapping; write"),
    "a way to fail that there is not": (
        _saga(debug={"fail_las": True}),
        "debug: unknown option 'fail_las' (did you mean fail_last?)",
    ),
    "an answer that no debugging gives": (
        _saga(debug={"fail_do": {"Pay": "fatl"}}),
        "debug: fail_do: 'fatl' is none of retry, fatal (did you mean fatal?)",
    ),
    "an index below the first": (
        _saga(debug={"fail_at": {"-1": "fatal"}}),
        "debug: fail_at: '-1' is not the index of a step; the first is 0",
    ),
    "a step that fails in two ways": (
        _saga(debug={"fail_at": {"1": "fatal", "01": "retry"}}),
        "debug: fail_at: one step is listed twice",
    ),
    "a failure of nothing": (
        _saga(debug={"fail_undo": ["Pay"]}),
        "fail_undo: ['Pay'] is no mapping of steps",
    ),
    "a step without a name": (
        _saga(debug={"fail_do": {"": "retry"}}),
        "fail_do: '' is not the name of a step",
    ),
}
