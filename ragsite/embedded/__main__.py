"""`python -m ragsite.embedded`: the whole product in the foreground.

Exit codes: 0 stopped, 1 failed, 2 already running.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys

from ragsite.embedded.launch import die_with
from ragsite.embedded.processes import ServiceError
from ragsite.embedded.supervisor import Supervisor
from ragsite.env import env

DATA_DIR_FAULTS = (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.ENOTDIR)


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
    except OSError as error:
        if error.errno not in DATA_DIR_FAULTS:
            raise
        sys.stderr.write(f"{env.DATA_DIR} cannot be written to: {error.strerror}. Choose another DATA_DIR.\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
