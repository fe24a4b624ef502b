"""`make bench-sources`: what the frame of connectors costs beside the bare list of a place.

`listed`: a folder of so many files that are all known and unchanged; the bare list in seconds, a run over it, and by
how much the peak of memory grows. `changed`: a folder of 10,000 of which 10 have other bytes: a run in seconds, files
that were read, documents that were touched besides. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.__main__ import prepare


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.sources", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--listed", type=int, default=100_000, help="files of the list")
    parser.add_argument("--present", type=int, default=10_000, help="files of which some have changed")
    parser.add_argument("--changed", type=int, default=10)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ragsite-bench-files-")))
        os.environ["SOURCE_FOLDERS"] = str(folder)
        prepare(stack)
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        from bench.sources.measure import changed_figures, list_figures

        changed = changed_figures(folder / "present", number=arguments.present, changed=arguments.changed)
        print(json.dumps({"changed": changed}), flush=True)
        listed = list_figures(folder / "listed", number=arguments.listed)
    print(json.dumps({"changed": changed, "listed": listed}))


if __name__ == "__main__":
    main()
