"""The bench of the nightly diagnosis: what it loads and counts, and that an unanswered question is left out."""

from __future__ import annotations

import json

import pytest

from bench.diagnosis.nightly import Windows, figures, part_of
from bench.diagnosis.nightly_cases import complain
from chat.turns import lifecycle
from feedback.models import BadCase
from ragcore.errors import TransientError
from tests.api.world import message_make
from tests.factories import make_user
from work import queue
from work.models import Job


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_part_of_a_set_has_the_documents_of_its_questions_and_others_up_to_the_number(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    corpus = [{"id": f"d{n}", "title": "", "text": f"text {n}"} for n in range(6)]
    (source / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), encoding="utf-8")
    queries = [{"id": "q1", "text": "一"}, {"id": "q2", "text": "二"}, {"id": "q3", "text": "三"}]
    (source / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    (source / "qrels.tsv").write_text("q1\td5\t1\nq2\td1\t1\nq2\td2\t1\nq2\td3\t1\nq3\td4\t1\n", encoding="utf-8")

    part_of(source, target, documents=3)

    assert [row["id"] for row in lines(target / "queries.jsonl")] == ["q1", "q3"]  # those of q2 do not fit
    assert [row["id"] for row in lines(target / "corpus.jsonl")] == ["d0", "d4", "d5"]


@pytest.mark.full
def test_windows_with_the_worker_are_compared_with_those_without():
    windows = Windows(off=[[1.0] * 20, [1.0] * 20], on=[[1.2] * 20, []], seconds=61.26, done=9, failed=1, is_over=True)

    found = figures(windows)

    assert (found["p95_off_ms"], found["p95_on_ms"], found["slower"]) == (1000.0, 1200.0, 0.2)
    assert found["interval"] == [0.2, 0.2]
    assert (found["seconds"], found["answers"], found["windows"]) == (61.3, 60, 3)
    windows.is_over = False
    assert figures(windows)["seconds"] is None  # nobody knows how long the rest takes
    with pytest.raises(ValueError, match="no window"):
        figures(Windows(off=[[1.0]], on=[[]]))


@pytest.mark.django_db(transaction=True)
def test_a_question_that_is_not_answered_in_time_opens_no_case(monkeypatch):
    user, calls, sent = make_user("load-1"), [], []

    async def answer_now(*, scope, user, request):
        calls.append(request.query)
        if request.query == "slow?":
            raise TransientError
        return answered[request.query]

    answered = {name: Stored(message_make(user, question=name)) for name in ("one?", "two?", "three?")}
    monkeypatch.setattr(lifecycle, "answer_now", answer_now)
    monkeypatch.setattr(queue, "send", lambda *call: sent.append(call[0]))

    assert complain(["slow?", "one?", "two?", "three?"], 2) == 2

    assert calls == ["slow?", "one?", "two?"]
    assert (BadCase.objects.count(), Job.objects.get().total) == (2, 2)
    assert "work.run_slice" in sent


class Stored:
    """What answering returns, as far as it is read here."""

    def __init__(self, message):
        self.message = message
