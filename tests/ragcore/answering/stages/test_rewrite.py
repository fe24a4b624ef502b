import json

from ragcore.answering.pipeline import build_stages, run_stages
from ragcore.answering.stages import question as _registered  # noqa: F401
from ragcore.llm.model_profile import ModelProfile
from ragcore.types.answering import AnswerState, Question, Rewrite, Turn
from tests.ragcore.understanding.stage_ports import ports
from tests.scripted_llm import Reply, serving

LONG = Question(text="How do I configure carrier aggregation on the BX300?", language="en")
LATER = Question(text="它有什么关键技术", language="zh", history=(Turn(question="小区切换失败时随机接入是什么"),))
RELATED = Rewrite(text="载波聚合是什么", method="related")


async def run(question, url="", state=None, **options):
    state = state or AnswerState(question=question)
    return await run_stages(build_stages([("rewrite", options)]), state, ports(url))


async def test_a_model_imagines_an_answer_to_a_long_first_question_unless_the_reader_waits():
    with serving() as server:
        server.default = Reply(texts=("Open the carrier aggregation page and switch on the secondary cell.",))
        state = await run(LONG, server.url)
        streamed = await run(LONG, server.url, streaming=True)

    assert [form.method for form in state.rewrites] == ["hyde"]
    assert state.stats["rewrite"]["method"] == "hyde"
    assert streamed.rewrites == ()
    assert streamed.stats["rewrite"]["method"] == "none"


async def test_without_a_model_no_answer_is_imagined_unless_somebody_chose_it():
    by_default, chosen = await run(LONG), await run(LONG, method="hyde")

    assert by_default.rewrites == ()
    assert by_default.stats["rewrite"]["method"] == "none"
    assert chosen.stats["rewrite"] == {"method": "hyde", "queries": ["To configure carrier aggregation on the BX300,"]}


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


def quick_ports(url, **speeds):
    using = ports(url)
    using.llm.model.profile = ModelProfile(**{"first_token_seconds": 0.1, "writing_speed": 200.0, **speeds})
    return using


async def run_quickly(question, using, state=None, **options):
    state = state or AnswerState(question=question)
    # a loaded machine may need more than the second that readers are asked to wait
    steps = build_stages([("rewrite", {"streaming": True, "seconds": 30.0, **options})])
    return await run_stages(steps, state, using)


def said(*queries):
    return Reply(texts=(json.dumps({"queries": queries}),))


async def test_a_quick_model_writes_at_most_three_forms_with_those_of_rules():
    short = Question(text="CA 是什么", language="zh")
    with serving() as server:
        server.default = said("CA 是什么", "CA 的定义", "CA 指的是什么", "CA 有什么用", "CA 的作用")
        alone = await run_quickly(short, quick_ports(server.url))
        behind = await run_quickly(short, quick_ports(server.url), AnswerState(question=short, rewrites=(RELATED,)))

    assert [(form.text, form.method) for form in alone.rewrites] == [
        ("CA 的定义", "related"),
        ("CA 指的是什么", "related"),
        ("CA 有什么用", "related"),
    ]
    assert alone.stats["rewrite"]["method"] == "related"
    assert [form.text for form in behind.rewrites] == [RELATED.text, "CA 的定义", "CA 指的是什么"]
    assert server.requests[0].body["max_tokens"] <= 150


async def test_forms_that_lose_a_number_or_bring_one_are_left_out():
    question = Question(text="What does alarm 26235 on the BTS3900 mean?", language="en")
    with serving() as server:
        server.default = said(
            "What does the alarm on the BTS3900 mean?",
            "Meaning of alarm 26235 on the BTS3900",
            "Meaning of alarm 26236 on the BTS3900",
        )
        state = await run_quickly(question, quick_ports(server.url))

    assert [form.text for form in state.rewrites] == ["Meaning of alarm 26235 on the BTS3900"]


async def test_late_forms_are_dropped_and_noted():
    with serving() as server:
        server.default = Reply(texts=said("CA 的定义").texts, hold_before=0)
        using = quick_ports(server.url)
        state = await run_quickly(Question(text="CA 是什么", language="zh"), using, seconds=0.4)
        server.release.set()

    assert state.rewrites == ()
    assert state.stats["rewrite"] == {"method": "none", "queries": [], "late": True}
    assert state.steps == ()
    assert using.llm.counts["late"] == 1


async def test_a_possible_answer_and_forms_are_written_at_the_same_time():
    with serving() as server:
        server.respond = lambda request: (
            said("BX300 carrier aggregation setup")
            if "three short queries" in request.body["messages"][0]["content"]
            else Reply(texts=("The BX300 is configured in its menu.",))
        )
        state = await run_quickly(LONG, quick_ports(server.url), streaming=False)

    assert [form.method for form in state.rewrites] == ["related", "hyde"]
    assert state.stats["rewrite"]["method"] == "hyde"


async def test_in_a_conversation_the_model_was_asked_with_the_standalone_question():
    with serving() as server:
        state = await run_quickly(LATER, quick_ports(server.url))

    assert server.requests == []
    assert [form.method for form in state.rewrites] == ["history"]
