"""Golden cases as a file that `golden_import` reads back."""

from __future__ import annotations

import json
from collections.abc import Iterator

from evaluation.models import GoldenSet
from evaluation.selectors import golden_cases


def cases_as_jsonl(*, golden_set: GoldenSet) -> Iterator[str]:
    """One line a case, in order, each ending with a newline."""
    for case in golden_cases(golden_set=golden_set):
        row = {"question": case.question, "answers": case.answers, "relevant": case.relevant, "tags": case.tags}
        yield json.dumps(row, ensure_ascii=False) + "\n"
