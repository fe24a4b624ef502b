import json

from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages import question as _registered  # noqa: F401
from ragcore.types.answering import AnswerState, Question, Rewrite, Turn
from tests.ragcore.understanding.stage_ports import ports
from tests.scripted_llm import Reply, serving

LONG = Question(text="How do I configure carrier aggregation on the BX300?", language="en")
LATER = Question(text="它有什么关键技术", language="zh", history=(Turn(question="小区切换失败时随机接入是什么"),))
RELATED = Rewrite(text="载波聚合是什么", method="related")


async def run(question, url="", state=None, **options):
    state = state or AnswerState(question=question)
    return await run_stages(build_stages([("rewrite", options)]), state, ports(url))


async def test_a_long_first_question_gets_a_hypothetical_answer_unless_the_reader_waits():
    state = await run(LONG)
    streamed = await run(LONG, streaming=True)

    assert [form.method for form in state.rewrites] == ["hyde"]
    assert state.stats["rewrite"] == {"method": "hyde", "queries": ["To configure carrier aggregation on the BX300,"]}
    assert streamed.rewrites == ()
    assert streamed.stats["rewrite"]["method"] == "none"


async def test_in_a_conversation_the_standalone_question_is_given_its_context():
    state = AnswerState(question=LATER, standalone="随机接入有什么关键技术")

    state = await run(LATER, state=state, streaming=True)

    assert [form.method for form in state.rewrites] == ["history"]
    assert "随机接入有什么关键技术" in state.rewrites[0].text


async def test_forms_that_are_there_stay_unless_no_other_form_is_wanted():
    state = AnswerState(question=Question(text="CA 是什么"), rewrites=(RELATED,))

    assert (await run(state.question, state=state)).rewrites == (RELATED,)
    assert (await run(state.question, state=state, method="none")).rewrites == ()
    assert (await run(state.question, state=state, method="magic")).rewrites == ()
    assert [f.text for f in (await run(state.question, state=state, method="multi")).rewrites] == [
        RELATED.text,
        "CA 定义 概念 基础",
    ]


async def test_a_model_that_fails_leaves_the_rules():
    with serving() as server:
        server.default = Reply(status=500)
        state = await run(LONG, server.url, method="step_back")

    assert server.requests
    assert state.rewrites == (await run(LONG, method="step_back")).rewrites
    assert state.rewrites
    assert state.records[0].error is None


async def test_what_a_model_says_is_told_as_a_step():
    with serving() as server:
        server.script(Reply(texts=(json.dumps({"queries": ["BX300 carrier aggregation"]}),)))
        state = await run(LONG, server.url, method="simplify")

    assert state.steps[0].detail == {"method": "simplify", "queries": ["BX300 carrier aggregation"]}


async def test_of_a_limited_number_of_forms_those_of_the_method_come_first():
    related = tuple(Rewrite(text=f"form {n}", method="related") for n in range(3))
    state = AnswerState(question=Question(text="CA 是什么"), rewrites=related)

    limited = await run(state.question, state=state, method="multi", most=2)
    unlimited = await run(state.question, state=state, method="multi")

    assert len(limited.rewrites) == 2
    assert limited.rewrites[0].method == "multi"
    assert {form.text for form in related} < {form.text for form in unlimited.rewrites}
