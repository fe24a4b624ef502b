"""The question within a prompt that another program has put together."""

import pytest

from ragcore.understanding.prompt_question import prompt_question

MOST = 200
PASSAGES = "The mast stands in the yard. Why is it there? It was built early. " * 40

PROMPTS = {
    "tags": (
        f"### Task\nUse the context.\n<context>\n{PASSAGES}\n</context>\n<user_query>\n门禁怎么开\n</user_query>",
        "门禁怎么开",
    ),
    "a label before the answer": (
        f"The context:\n---\n{PASSAGES}\n---\nGiven the context, answer.\nQuery: How high is it?\nAnswer: ",
        "How high is it?",
    ),
    "a Chinese label": (f"已知信息:\n{PASSAGES}\n\n问题：塔有多高？", "塔有多高？"),
    "a short prompt with tags": ("Answer briefly.\n<query>How high is it?</query>", "How high is it?"),
    "last": (
        f"{PASSAGES}\n\nHow high is the mast? Answer in one sentence.",
        "How high is the mast? Answer in one sentence.",
    ),
    "first": (f"How high is the mast?\n\n{PASSAGES}\nIt is {'very ' * 60}high.", "How high is the mast?"),
    "only in the passages": (f"Notes. {PASSAGES}{'It is high. ' * 30}", "Why is it there?"),
    "no question at all": (f"{'It stands there. ' * 40}Tell me its height.", "Tell me its height."),
}


@pytest.mark.parametrize(("text", "question"), PROMPTS.values(), ids=PROMPTS.keys())
def test_it_is_found(text, question):
    assert prompt_question(text, most=MOST).endswith(question)
    assert len(prompt_question(text, most=MOST)) <= MOST


@pytest.mark.parametrize(
    "text",
    [
        "How high is it?",
        "Question: how is the label of a question written",
        "What does <query> mean in the file?",
        "First I opened the door.\n\nThen it rang. Why?",
    ],
)
def test_a_question_of_a_person_stays_whole(text):
    assert text.endswith(prompt_question(text, most=MOST))
    assert len(prompt_question(text, most=MOST)) >= len(text) - len("Question: ")


@pytest.mark.parametrize("text", ["x" * 5000, "？" * 5000, "<query>" * 800, "a\n\n" * 2000])
def test_it_has_no_more_characters_than_it_may_have(text):
    assert 0 < len(prompt_question(text, most=MOST)) <= MOST
