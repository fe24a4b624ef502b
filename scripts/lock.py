"""Write requirements.lock and requirements-dev.lock from what is installed.

The ranges of pyproject.toml are the source. This takes the versions of the running environment, so first bring that
to where it should be (`pip install -U ...`), test, then `make lock`. The runtime lock is the closure of the project's
dependencies with the extra `embedded`; the other one holds what the extra `dev` adds.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
HEADER = "# Written by `make lock` from the ranges in pyproject.toml. Do not edit.\n"


def closure(requirements: Iterable[str]) -> dict[str, str]:
    """Canonical name -> exact version of all that these requirements need here, themselves included.

    Raises SystemExit naming what is not installed or outside its range.
    """
    found: dict[str, str] = {}
    seen: set[str] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        key = f"{requirement} for {extra}"
        if key in seen or (requirement.marker and not requirement.marker.evaluate({"extra": extra})):
            continue
        seen.add(key)
        name = canonicalize_name(requirement.name)
        found[name], needs = installed(requirement)
        waiting += [(Requirement(need), wanted) for need in needs for wanted in ("", *requirement.extras)]
    return found


def installed(requirement: Requirement) -> tuple[str, list[str]]:
    """The public version (a build tag like +cpu is not known to every index) and what the package requires."""
    try:
        package = distribution(requirement.name)
    except PackageNotFoundError:
        sys.exit(f"{requirement.name} is not installed; run `make install-dev` first")
    version = Version(package.version)
    if not requirement.specifier.contains(version.public, prereleases=True):
        sys.exit(f"{requirement.name} {version} is installed, but {requirement} is asked for")
    return version.public, package.requires or []


def write(path: Path, pins: dict[str, str], *, first_line: str = "") -> None:
    lines = [f"{name}=={version}\n" for name, version in sorted(pins.items())]
    path.write_text("".join([HEADER, first_line, *lines]), encoding="utf-8")


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    runtime = closure(project["dependencies"] + extras["embedded"])
    everything = closure(project["dependencies"] + extras["embedded"] + extras["dev"])
    write(ROOT / "requirements.lock", runtime)
    added = {name: version for name, version in everything.items() if name not in runtime}
    write(ROOT / "requirements-dev.lock", added, first_line="-r requirements.lock\n")


if __name__ == "__main__":
    main()
