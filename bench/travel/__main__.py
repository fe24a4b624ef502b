"""`python -m bench.travel`: a set of --documents made-up documents is exported and imported in a second tenant.

The same --questions are asked before and after. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
from contextlib import ExitStack
from importlib import import_module

from bench.__main__ import prepare


def main() -> None:
    """Start the services, then measure: what measures uses the ORM."""
    parser = argparse.ArgumentParser(prog="python -m bench.travel", description=__doc__)
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--questions", type=int, default=100)
    given = parser.parse_args()
    with ExitStack() as stack:
        prepare(stack)
        measure = import_module("bench.travel.measure")
        print(json.dumps(measure.travel_measure(documents=given.documents, questions=given.questions)))


if __name__ == "__main__":
    main()
