import json
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages import question as _registered  # noqa: F401
from ragcore.types import Profile
from ragcore.types.answering import AnswerState, Question, Turn
from ragcore.understanding.rewriting import is_question, numbers, validate_form
from ragcore.understanding.standalone import standalone_by_rules
from tests.ragcore.understanding.stage_ports import ports, tokenizer
from tests.scripted_llm import Reply, serving

ENGLISH = Question(
    text="What is the price of it in release 7.2 for the BX300?",
    language="en",
    history=(Turn(question="What is the mesh licence?", answer="A licence for mesh networks."),),
)
CHINESE = Question(
    text="它在V3.1里的默认值是多少",
    language="zh",
    history=(Turn(question="随机接入前导是什么", answer="终端发送的一段序列。"),),
)


def said(standalone):
    return Reply(texts=(json.dumps({"standalone": standalone}),))


@pytest.mark.parametrize(
    ("question", "reply"),
    [
        pytest.param(ENGLISH, Reply(texts=("It asks about the mesh licence, I think.",)), id="prose"),
        pytest.param(ENGLISH, Reply(texts=('{"standalone": "What is the price of the mesh',)), id="truncated"),
        pytest.param(
            ENGLISH, said("The price of the mesh licence in release 7.2 for the BX300 is not known."), id="an answer"
        ),
        pytest.param(
            ENGLISH,
            said("What is 480 EUR, the price of the mesh licence in release 7.2 for the BX300?"),
            id="new number",
        ),
        pytest.param(ENGLISH, said("BX300 7.2版本的mesh许可证价格是多少？"), id="another language"),
        pytest.param(
            ENGLISH, said("What is the price of the mesh licence in release 7.2 for the BX300? " * 10), id="long"
        ),
        pytest.param(ENGLISH, said("What is the price of the mesh licence for the BX300?"), id="lost the release"),
        pytest.param(ENGLISH, said("What is the price of the mesh licence in release 7.2?"), id="lost the device"),
        pytest.param(ENGLISH, said("Which mesh networks exist for the BX300 since 7.2?"), id="another question"),
        pytest.param(CHINESE, said("随机接入前导在V3.1里的默认值是一段序列。"), id="an answer in Chinese"),
        pytest.param(CHINESE, said("随机接入前导的默认值是多少"), id="lost the version"),
        pytest.param(CHINESE, said("What is the default of the preamble in V3.1?"), id="English for Chinese"),
    ],
)
async def test_a_reply_that_is_not_the_question_rewritten_leaves_the_form_of_the_rules(question, reply):
    by_rules = standalone_by_rules(question, tokenizer()).text
    steps = build_stages([("understand.standalone", {"seconds": 30.0})])
    with serving() as server:
        server.default = reply
        state = await run_stages(steps, AnswerState(question=question), ports(server.url))

    assert server.requests
    assert state.query == by_rules
    assert by_rules != question.text
    assert state.stats["understand.standalone"]["method"] == "rules"
    assert state.records[0].error is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (ENGLISH, "What is the price of the mesh licence in release 7.2 for the BX300?"),
        (ENGLISH, "How much is the price of a mesh licence for the BX300 in release 7.2?"),
        (CHINESE, "随机接入前导在V3.1里的默认值是多少"),
        (Question(text="Why?", language="en", history=ENGLISH.history), "Why is a mesh licence needed?"),
        (
            Question(text="Which of our product's alarms came in the last 3 months?", language="en", history=()),
            "Which alarms of the BTS3900 came between 2026-08-22 and 2026-11-22?",
        ),
    ],
)
async def test_a_form_that_asks_the_same_is_believed(question, text):
    question = Question(
        text=question.text,
        language=question.language,
        history=question.history,
        today=date(2026, 11, 22),
        profile=Profile(product="BTS3900"),
    )
    steps = build_stages([("understand.standalone", {"seconds": 30.0})])
    with serving() as server:
        server.default = said(text)
        state = await run_stages(steps, AnswerState(question=question), ports(server.url))

    assert state.query == text
    assert state.stats["understand.standalone"]["method"] == "model"


def test_a_related_query_need_not_ask_the_same():
    wordy = "What is the price of the mesh licence in release 7.2?"

    assert validate_form("mesh licence price list", wordy, [], tokenizer(), same=False) == "mesh licence price list"
    assert validate_form("mesh licence price list", wordy, [], tokenizer()) == ""


def test_words_of_time_may_lose_their_numbers_and_others_may_not():
    form = "Which alarms did cell 12 raise between 2026-08-22 and 2026-11-22?"

    assert validate_form(form, "Which alarms did cell 12 raise in the last 3 months?", [], tokenizer()) == form
    assert validate_form(form, "Which alarms did cell 13 raise in the last 3 months?", [], tokenizer()) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is it", True),
        ("Ok, and how much", True),
        ("Tell me its price", True),
        ("Its price is 500.", False),
        ("它的价格是多少", True),
        ("价格为500元。", False),
        ("请按申请流程办理", False),
    ],
)
def test_what_asks_is_told_from_what_states(text, expected):
    assert is_question(text) is expected


@given(text=st.text(max_size=60), history=st.lists(st.text(max_size=40), max_size=3))
def test_a_question_with_keywords_is_a_valid_form_of_itself(text, history):
    form = validate_form(text, text, history, tokenizer())

    if form:
        assert numbers(form) == numbers(text)
        assert validate_form(form, form, history, tokenizer()) == form
