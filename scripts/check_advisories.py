"""Ask a vulnerability service about every pinned package: 0 none known, 1 some are, 3 it could not be asked about all.

`pip-audit` ends with success where the service does not know a package, also where a mirror answers in its place and
knows none. Here that counts as not checked.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCKS = ("requirements.lock", "requirements-torch.lock", "requirements-dev.lock")
KNOWN, NOT_CHECKED = 1, 3


def main() -> int:
    """Print what is known, and what could not be found out."""
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "pins.txt"
        pins.write_text("".join(sorted(_pins())), encoding="utf-8")
        command = [sys.executable, "-m", "pip_audit", "-r", str(pins), "--no-deps", "--disable-pip", "-f", "json"]
        done = subprocess.run(
            [*command, "--progress-spinner", "off", *sys.argv[1:]], capture_output=True, text=True, check=False
        )
    try:
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = done.stderr.strip().splitlines()[-1:] or ["no answer"]
        _say(f"The vulnerability service could not be asked: NOTHING was checked. ({reason[0][:300]})")
        return NOT_CHECKED
    return _report(packages)


def _pins() -> set[str]:
    lines = (line for name in LOCKS for line in (ROOT / name).read_text(encoding="utf-8").splitlines())
    return {f"{line.removesuffix(chr(92)).strip()}\n" for line in lines if line[:1].isalnum() and "==" in line}


def _report(packages: list[dict[str, Any]]) -> int:
    weak = [one for one in packages if one.get("vulns")]
    unknown = [one["name"] for one in packages if "skip_reason" in one]
    for one in weak:
        for advisory in one["vulns"]:
            fixed = ", ".join(advisory["fix_versions"]) or "no version"
            _say(f"{one['name']} {one['version']}: {advisory['id']}, mended in {fixed}")
    if len(unknown) == len(packages):
        _say("The vulnerability service knows none of these packages (a mirror without it?): NOTHING was checked.")
    elif unknown:
        _say(f"Not checked: {', '.join(unknown)}")
    _say(f"{len(packages) - len(unknown)} of {len(packages)} packages checked, {len(weak)} with known weaknesses.")
    return KNOWN if weak else NOT_CHECKED if unknown else 0


def _say(*lines: str) -> None:
    print(*lines, sep="\n")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
