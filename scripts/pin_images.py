"""Write the digests of the container images into docker/.env: `python scripts/pin_images.py [FILE]`.

Each image of docker/compose.yaml is looked up in the registry that `docker` is set up for. A tag that somebody moves
later then changes nothing. Nothing is written unless all of them are found: 0 all written, 3 not all were found.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPOSE = ROOT / "docker" / "compose.yaml"
IMAGE = re.compile(r"\$\{([A-Z]+_IMAGE):-([^}]+)\}")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
LOOK_UP = ("docker", "buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}")
NOT_FOUND = 3


def main() -> int:
    """Look up all, then write them."""
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docker" / ".env"
    pinned: dict[str, str] = {}
    for variable, tag in IMAGE.findall(COMPOSE.read_text(encoding="utf-8")):
        digest = _digest(tag)
        if not DIGEST.fullmatch(digest):
            _say(f"The digest of {tag} could not be looked up: NOTHING was pinned. ({digest[:300]})")
            return NOT_FOUND
        pinned[variable] = f"{tag}@{digest}"
    _write(file, pinned)
    _say(*(f"{variable}={image}" for variable, image in pinned.items()), f"written to {file}")
    return 0


def _digest(tag: str) -> str:
    """`sha256:…`, or why there is none."""
    try:
        done = subprocess.run([*LOOK_UP, tag], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"docker cannot be started: {error.strerror}"
    return done.stdout.strip() if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no answer"])[-1]


def _write(file: Path, pinned: dict[str, str]) -> None:
    """Replace the lines of these variables, and add those that are not there; the rest of the file stays."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    kept = [line for line in lines if line.partition("=")[0] not in pinned]
    written = [*kept, *(f"{variable}={image}" for variable, image in pinned.items())]
    file.write_text("\n".join(written) + "\n", encoding="utf-8")


def _say(*lines: str) -> None:
    print(*lines, sep="\n")  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
