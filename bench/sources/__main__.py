"""`make bench-sources`: what the frame of connectors costs beside the bare list of a place.

`listed`: so many objects of a storage that speaks S3, and as many files of a folder, all known and unchanged: the bare
list in seconds, a run over it, and by how much the peak of memory grows. `changed`: a folder of 10,000 of which 10 have
other bytes: a run in seconds, files that were read, documents that were touched besides. The last line is one JSON
object.
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
        from bench.sources.measure import (
            changed_figures,
            files_write,
            folder_source,
            hashes_of,
            list_figures,
            object_source,
        )

        changed = changed_figures(folder / "present", number=arguments.present, changed=arguments.changed)
        print(json.dumps({"changed": changed}), flush=True)
        with object_source(arguments.listed) as source:
            listed = {"objects": list_figures(source, number=arguments.listed)}
        print(json.dumps({"listed": listed}), flush=True)
        place = folder / "listed"
        files_write(place, arguments.listed)
        listed["files"] = list_figures(folder_source(place), number=arguments.listed, hashes=hashes_of(place))
    print(json.dumps({"changed": changed, "listed": listed}))


if __name__ == "__main__":
    main()
