"""Write the lock files from what is installed, with the hashes of every file that the package index offers.

The ranges of pyproject.toml are the source. This takes the versions of the running environment, so first bring that
to where it should be (`pip install -U ...`), test, then `make lock`. `requirements.lock` is the closure of the
project's dependencies with the extra `embedded`; `requirements-dev.lock` holds what the extra `dev` adds. With `audit`
as argument `requirements-audit.lock` is written instead, which has an environment of its own; with `ldap`, what that
extra adds, for the folder of scripts/ensure_ldap.sh (PYTHONPATH=.ldap-packages); with `llama`, what that extra adds,
for scripts/ensure_llama.sh.

PyTorch stands apart without hashes (`requirements-torch.lock`): which file of it is right depends on the machine (with
or without a GPU), and those without one come from indexes of their own.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
UV = ROOT / ".venv-audit" / "bin" / "uv"
HEADER = "# Written by `make lock` from the ranges in pyproject.toml. Do not edit.\n"
TORCH = "torch"


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


def marked(pins: Mapping[str, str], requirements: Iterable[str]) -> dict[str, str]:
    """The pins, with the marker of those that the project wants on some machines only."""
    parsed = [Requirement(text) for text in requirements]
    markers = {str(canonicalize_name(one.name)): f" ; {one.marker}" for one in parsed if one.marker}
    return {name: version + markers.get(name, "") for name, version in pins.items()}


def with_hashes(pins: Mapping[str, str]) -> str:
    """The pins with the SHA-256 of all their files. Raises SystemExit where the index does not have one of them."""
    options = ["--universal", "--no-deps", "--generate-hashes", "--no-header", "--no-annotate", "--quiet"]
    done = subprocess.run(
        [str(UV), "pip", "compile", *options, "--python-version", platform.python_version(), "-"],
        input=_lines(pins),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"The hashes could not be found:\n{done.stderr}")
    return done.stdout


def _lines(pins: Mapping[str, str]) -> str:
    return "".join(f"{name}=={version}\n" for name, version in sorted(pins.items()))


def write(path: Path, pins: Mapping[str, str], *, first_line: str = "") -> None:
    path.write_text("".join([HEADER, first_line, with_hashes(pins)]), encoding="utf-8")


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    if sys.argv[1:] == ["audit"]:
        write(ROOT / "requirements-audit.lock", closure(extras["audit"]))
        return
    runtime = closure(project["dependencies"] + extras["embedded"])
    if sys.argv[1:] in (["ldap"], ["llama"]):
        extra = sys.argv[1]
        pins = closure(extras[extra])
        write(ROOT / f"requirements-{extra}.lock", {name: pins[name] for name in pins if name not in runtime})
        return
    everything = closure(project["dependencies"] + extras["embedded"] + extras["dev"])
    added = {name: version for name, version in everything.items() if name not in runtime}
    torch = {TORCH: runtime.pop(TORCH)}
    write(ROOT / "requirements.lock", marked(runtime, project["dependencies"]))
    write(ROOT / "requirements-dev.lock", added, first_line="-r requirements.lock\n")
    (ROOT / "requirements-torch.lock").write_text(HEADER + _lines(torch), encoding="utf-8")


if __name__ == "__main__":
    main()
