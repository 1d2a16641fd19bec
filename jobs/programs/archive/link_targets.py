"""Targets of the symbolic links of an archive, resolved without following any link on the disk."""

from collections.abc import Mapping
from typing import Final

from sluice.jobs.programs.errors import Unfit
from sluice.jobs.programs.names import DEPTH_MAX, PATH_BYTES_MAX, quoted

#: Maximum number of links in one path, as in the kernel.
HOPS_MAX: Final = 40

Parts = tuple[str, ...]


def check_link(at: Parts, target: str, links: Mapping[Parts, str]) -> None:
    """Check a link. Unfit if it, or any link on its path, leads out of the archive's top folder, or in a circle.

    The path is resolved as by the kernel, one name at a time; each link of the archive is followed where it occurs. A
    missing name counts as a folder because the program may create it.
    """
    name = quoted("/".join(at))
    here: list[str] = list(at[:-1])
    ahead = _steps(name, target)
    hops = 1
    while ahead:
        step = ahead.pop()
        if step == "..":
            if not here:
                raise Unfit(f"the link {name} leads out of the archive")
            here.pop()
            continue
        # Links cannot be deeper than this. Each look-up takes time in proportion to the depth, which may be thousands
        # of names.
        further = links.get((*here, step)) if len(here) < DEPTH_MAX else None
        if further is None:
            here.append(step)
            continue
        hops += 1
        if hops > HOPS_MAX:
            raise Unfit(f"the link {name} leads over more than {HOPS_MAX} others, or in a circle")
        ahead.extend(_steps(name, further))


def _steps(name: str, target: str) -> list[str]:
    """Return the names of the path, the next one last."""
    if (
        not target
        or "\0" in target
        or "\\" in target
        or len(target.encode("utf-8", "replace")) > PATH_BYTES_MAX
    ):
        raise Unfit(f"the link {name} leads to no usable name")
    if target.startswith("/"):
        raise Unfit(f"the link {name} leads out of the archive")
    return [step for step in reversed(target.split("/")) if step not in {"", "."}]
