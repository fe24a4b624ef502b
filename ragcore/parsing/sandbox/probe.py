"""A process that confines itself as parsers do and says what is in force (see `process.sandbox_measures`)."""

from __future__ import annotations

import sys
from dataclasses import asdict

from ragcore.parsing.sandbox.confine import confine
from ragcore.parsing.sandbox.process import DEFAULT_LIMITS

if __name__ == "__main__":
    limits = asdict(DEFAULT_LIMITS)
    del limits["wall_seconds"]
    sys.stdout.write(" ".join(sorted(confine(**limits))))
