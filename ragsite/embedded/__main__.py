"""`python -m ragsite.embedded`: the whole product in the foreground.

Exit codes: 0 stopped, 1 failed, 2 already running.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys

from ragsite.embedded.launch import die_with
from ragsite.embedded.processes import ServiceError
from ragsite.embedded.supervisor import Supervisor
from ragsite.env import env


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ragsite.embedded", description="Run the product until Ctrl-C.")
    parser.add_argument("--with-parent", action="store_true", help="stop when the starting process (make) is gone")
    if parser.parse_args().with_parent:
        die_with(os.getppid(), signal.SIGTERM)
    try:
        return Supervisor.of(env).run()
    except ServiceError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
