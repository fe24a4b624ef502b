import json
from functools import partial

import pytest

from ragcore.types.answering import Question, Turn
from ragcore.understanding.rewriting import METHODS, choose_method, is_unwilling, rewrite_question, without_hypothesis
from tests.ragcore.understanding.stage_ports import ports
from tests.scripted_llm import Reply, serving

LONG = "How do I configure carrier aggregation on the BX300?"
FIRST = Question(text=LONG, language="en")
LATER = Question(
    text="它有什么关键技术", language="zh", history=(Turn(question="随机接入是什么", answer="一种过程。"),)
)


def queries(*texts):
    return Reply(texts=(f"Here you are: {json.dumps({'queries': texts})}",))


@pytest.mark.parametrize(
    ("method", "query", "question", "streaming", "expected"),
    [
        ("auto", "CA 是什么", Question(text="CA 是什么"), False, "none"),
        ("auto", LONG, FIRST, False, "hyde"),
        ("auto", LONG, FIRST, True, "none"),
        ("auto", "随机接入有什么关键技术", LATER, False, "history"),
        ("auto", "随机接入有什么关键技术", LATER, True, "history"),
        ("hyde", LONG, FIRST, True, "none"),
        ("hyde", LONG, FIRST, False, "hyde"),
        ("magic", LONG, FIRST, False, "none"),
        ("", LONG, FIRST, False, "none"),
        ("multi", LONG, FIRST, True, "multi"),
    ],
)
def test_what_a_method_comes_to(method, query, question, streaming, expected):
    chosen = choose_method(method, query=query, question=question, streaming=streaming, has_model=True)
    assert chosen == expected


def test_without_a_model_an_assertion_is_made_only_for_who_chose_it():
    choose = partial(choose_method, query=LONG, question=FIRST, streaming=False, has_model=False)

    assert [choose(method) for method in ("auto", "hyde")] == ["none", "hyde"]


async def test_a_model_gives_two_other_wordings_at_a_temperature_that_lets_them_differ():
    with serving() as server:
        server.script(
            queries(LONG, "Setting up carrier aggregation on a BX300", "BX300 carrier aggregation setup", "BX300 third")
        )
        found = await rewrite_question(LONG, "multi", question=FIRST, ports=ports(server.url))

    assert [form.text for form in found] == [
        "Setting up carrier aggregation on a BX300",
        "BX300 carrier aggregation setup",
    ]
    assert {form.method for form in found} == {"multi"}
    assert server.requests[0].body["temperature"] == 0.7
    assert f"<question>\n{LONG}\n</question>" in server.requests[0].body["messages"][0]["content"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "reply",
    [
        Reply(status=500),
        Reply(status=429),
        Reply(texts=("I would rather talk about something else.",)),
        Reply(texts=('{"queries": ["BX300 carrier', " aggr"), cut_after=1),
        Reply(texts=('{"queries": "one text"}',)),
        queries("今天天气如何"),
        queries("An entirely unrelated poem"),
        queries("BX300 " * 400),
    ],
)
async def test_what_a_model_gets_wrong_is_left_to_the_rules(method, reply):
    by_rules = await rewrite_question(LONG, method, question=FIRST, ports=ports())
    with serving() as server:
        server.default = reply
        found = await rewrite_question(LONG, method, question=FIRST, ports=ports(server.url))

    assert found == by_rules


async def test_a_model_that_is_late_is_not_waited_for():
    with serving() as server:
        server.default = Reply(hold_before=0)
        found = await rewrite_question(LONG, "multi", question=FIRST, ports=ports(server.url, seconds=0.2))
        server.release.set()

    assert found == await rewrite_question(LONG, "multi", question=FIRST, ports=ports())
    assert found


async def test_a_hypothetical_answer_is_marked_and_says_nothing_of_being_one():
    text = "Here is a hypothetical answer: Perhaps carrier aggregation on the BX300 is configured in the cell menu."
    with serving() as server:
        server.script(Reply(texts=(text,)))
        (form,) = await rewrite_question(LONG, "hyde", question=FIRST, ports=ports(server.url))

    assert form.is_hypothetical
    assert form.text == "carrier aggregation on the BX300 is configured in the cell menu."
    assert server.requests[0].body["temperature"] == 0.7
    assert server.requests[0].body["max_tokens"] == 300


@pytest.mark.parametrize(
    "text",
    [
        "参考资料中未找到相关信息",
        "The knowledge base does not contain an answer to this question.",
        "I'm sorry, but nothing is known to me about the BX300.",
        "As an AI, I don’t have access to the manual of the BX300.",
        "抱歉，我无法回答这个问题。",
        "BX300 的载波聚合在小区菜单中配置，先选择主载波，再添加辅载波。",
    ],
)
async def test_a_refusal_or_another_language_is_no_hypothetical_answer(text):
    with serving() as server:
        server.script(Reply(texts=(text,)))
        found = await rewrite_question(LONG, "hyde", question=FIRST, ports=ports(server.url))

    assert server.requests
    assert found == await rewrite_question(LONG, "hyde", question=FIRST, ports=ports())
    assert found


@pytest.mark.parametrize(
    "text",
    [
        "A terminal cannot use both carriers at once. It first reads the cell menu.",
        "To avoid errors, the menu says sorry. I cannot stress enough that the cell comes first.",
        "终端不能同时使用两个载波，需要先读取小区菜单。",
    ],
)
def test_an_answer_about_what_cannot_be_done_is_an_answer(text):
    assert not is_unwilling(text)


async def test_a_hypothetical_answer_has_at_most_300_tokens():
    with serving() as server:
        server.script(Reply(texts=("word " * 900,)))
        using = ports(server.url)
        (form,) = await rewrite_question(LONG, "hyde", question=FIRST, ports=using)

    assert using.counter.count(form.text) <= 300


async def test_without_a_model_the_question_becomes_an_assertion():
    (form,) = await rewrite_question(LONG, "hyde", question=FIRST, ports=ports())

    assert form.text == "To configure carrier aggregation on the BX300,"
    assert form.is_hypothetical


async def test_in_a_conversation_the_form_with_context_holds_the_topic_and_mostly_the_question():
    (form,) = await rewrite_question("有什么关键技术", "auto", question=LATER, ports=ports(), streaming=True)

    assert form.method == "history"
    assert "随机接入" in form.text
    assert form.text.count("有什么关键技术") > 1
    assert not form.is_hypothetical


async def test_sub_questions_are_kept_where_they_are_related_but_not_the_same():
    query = "How do I configure carrier aggregation, and which alarms of the fan are listed in the manual?"
    related = "Which alarms of the fan are listed?"
    almost_the_same = query.replace(", and", " and")
    unrelated = "How warm is the sea in March near the old harbour?"
    with serving() as server:
        server.script(queries(almost_the_same, related, unrelated))
        found = await rewrite_question(query, "decompose", question=Question(text=query), ports=ports(server.url))

    assert [form.text for form in found] == [related]


async def test_a_query_in_another_language_is_welcome_where_it_holds_another_name_of_a_term():
    query = "载波聚合是什么"
    with serving() as server:
        server.script(queries("What is carrier aggregation?", "What is the weather like?"))
        found = await rewrite_question(query, "expand", question=Question(text=query), ports=ports(server.url))

    assert [form.text for form in found] == ["载波聚合是什么 carrier aggregation"]  # added, nothing is replaced


async def test_unknown_methods_and_none_find_nothing():
    assert await rewrite_question(LONG, "none", question=FIRST, ports=ports()) == ()
    assert await rewrite_question(LONG, "magic", question=FIRST, ports=ports()) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("假设性回答：随机接入可能分为四步。", "随机接入分为四步。"),
        ("The possibility of failure is low.", "The possibility of failure is low."),
        ("随机接入的可能性", "随机接入的可能性"),
        ("Hypothetically, I think it is maybe 20 ms.", "it is 20 ms."),
    ],
)
def test_hypothetical_phrases_are_removed_and_words_that_look_like_them_stay(text, expected):
    assert without_hypothesis(text) == expected
