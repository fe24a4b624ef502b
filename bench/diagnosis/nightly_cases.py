"""`python -m bench.diagnosis.nightly_cases FILE NUMBER`: asks questions in the database of DATA_DIR and complains.

FILE holds one question a line. Each answer is voted down, which opens a case, until there are NUMBER; then the run that
starts every night is started, and a worker of the product takes it. A question that is not answered in time, as the
first ones while models are loaded on a busy machine, is left out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any


def complain(questions: list[str], number: int) -> int:
    """How many cases were opened. Needs Django."""
    from asgiref.sync import async_to_sync

    from accounts.models import User
    from accounts.selectors import scope_for
    from chat.turns.lifecycle import answer_now
    from chat.types import AnswerRequest
    from evaluation.services.case_diagnosis import diagnosis_runs_at_night
    from feedback.models import BadCase
    from feedback.services import vote_record
    from ragcore.errors import RagError

    user: Any = User.objects.select_related("tenant").get(username="load-1")
    scope = scope_for(user)
    for question in questions:
        if BadCase.objects.count() >= number:
            break
        asked = AnswerRequest(query=question, cache=False, personal=False)
        try:
            stored = async_to_sync(answer_now)(scope=scope, user=user, request=asked)
        except RagError as error:
            sys.stderr.write(f"{question}: {error.code}\n")
            continue
        vote_record(scope=scope, user=user, message_id=stored.message.pk, vote="down")
    diagnosis_runs_at_night()
    return BadCase.objects.count()


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    django.setup()
    questions = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    sys.stdout.write(str(complain(questions, int(sys.argv[2]))))


if __name__ == "__main__":
    main()
