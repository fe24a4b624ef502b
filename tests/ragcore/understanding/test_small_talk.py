import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.understanding.small_talk import may_be_small_talk, needs_retrieval, small_talk_kind
from tests.ragcore.grading.world import tokenizer

SMALL_TALK = [
    "你好", "您好！", "你们好", "早上好", "謝謝", "谢谢你", "非常感谢您的帮助！",
    "谢谢你，帮了大忙", "这个很有用，谢谢",
    "好的，谢谢你的帮助！", "再见", "👋 你好呀", "Hi!", "Hello there",
    "hey, thanks", "Good morning", "Thank you so much!", "thanks a lot for your help", "OK, thanks. Bye!",
    "我刚才问了什么？", "我們剛才聊了什麼？", "总结一下我们的对话",
    "请总结一下我们刚才的对话内容。", "你刚才说了什么", "我的上一个问题是什么？", "再说一遍",
    "What did I just ask?", "what was my first question", "Summarize our conversation so far, please.",
    "What have we talked about?", "Please repeat your last answer.",
    "who are you", "hello, who are you?", "What's your name?", "what can you do", "What can I ask you about?", "help",
    "how do I use this tool", "what documents do you have", "你是谁", "你好，你能做什么？", "你能帮我做什么",
    "你会什么", "你有什么功能", "你可以回答哪些问题？", "你是机器人吗", "自我介绍一下",
    "这里能查什么", "你能幫我做什麼",
]  # fmt: skip
QUESTIONS = [
    "你好，什么是PRACH？", "你好世界程序怎么写", "谢谢这个词用英语怎么说",
    "总结一下切换流程", "总结一下我们的对话系统架构", "对话管理模块是什么", "你刚才说的前导码是什么",
    "再见面的条件是什么", "上一个问题里的参数是多少", "早上好的英文是什么", "好的", "嗯",
    "HI 接口", "重复一遍随机接入的步骤",
    "Hi, what is PRACH?", "hello world", "What is a hello message?", "thanks to which protocol is it possible?",
    "Summarize the conversation handover procedure", "What did I2C replace?", "What did you say about PRACH?",
    "what can you do about ALM-1008", "what do you know about beam management", "who is this for", "介绍一下载波聚合",
    "你能帮我查一下载波聚合吗", "怎么用", "介绍一下", "what is this", "这个参数能做什么", "help desk phone number",
    "repeat request", "good morning calls", "what is a conversation", "How are you configuring the cell?", "ok", "",
]  # fmt: skip


@pytest.mark.parametrize("text", SMALL_TALK)
def test_greetings_thanks_and_questions_about_the_conversation_need_no_search(text):
    assert not needs_retrieval(text)


@pytest.mark.parametrize("text", QUESTIONS)
def test_everything_else_is_searched_for(text):
    assert needs_retrieval(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("你好", "greetings"), ("Hi!", "greetings"), ("谢谢", "thanks"), ("hey, thanks", "thanks"),
        ("辛苦了", "thanks"), ("OK, thanks. Bye!", "thanks"), ("再见", "farewells"),
        ("我刚才问了什么？", "conversation"), ("What is PRACH?", None),
        ("你是谁", "assistant"), ("Hello! What can you do?", "assistant"),
        ("are you a real person or a robot?", "assistant"), ("你是真人还是机器人呀", "assistant"),
        ("am i chatting with a bot", "assistant"), ("are you a human resources contact", None),
        ("那先到这吧，回头再聊", "farewells"), ("that's all for today", "farewells"), ("我先下了", "farewells"),
        ("先这样处理可以吗", None), ("那我走了还能报销吗", None), ("is that all it can do", None),
    ],
)  # fmt: skip
def test_what_kind_of_small_talk_a_text_is(text, kind):
    assert small_talk_kind(text) == kind


@given(st.sampled_from(SMALL_TALK[:17]), st.sampled_from(["What is PRACH?", "切换流程是什么", "TS 38.331"]))
def test_a_question_behind_a_greeting_is_searched_for(greeting, question):
    assert needs_retrieval(f"{greeting} {question}")


@given(st.text(alphabet="好感谢你thanks 吗ok", max_size=2000))
def test_any_mixture_of_its_words_is_decided_quickly(text):
    assert needs_retrieval(text) in (True, False)


def test_a_model_is_believed_only_where_all_words_are_talk():
    assert may_be_small_talk("What was it that I asked you at the beginning?", tokenizer())
    assert may_be_small_talk("我一开始问的是什么问题", tokenizer())
    assert not may_be_small_talk("What is the beginning of the random access procedure?", tokenizer())
    assert not may_be_small_talk("刚才的切换流程是什么", tokenizer())
