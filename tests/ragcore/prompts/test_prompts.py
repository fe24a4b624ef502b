import hashlib
from importlib.resources import files

import pytest

from ragcore.prompts import load, parse

NAMES = sorted(
    path.name.removesuffix(".md") for path in files("ragcore.prompts").iterdir() if path.name.endswith(".md")
)


def test_all_prompts_are_there():
    assert set(NAMES) >= {
        "answer_system", "answer_user", "conversation_summary",
        "style_report", "style_simple", "style_advanced", "style_precise",
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_prompt_loads_and_renders_without_open_slots(name):
    prompt = load(name)

    text = prompt.render(**dict.fromkeys(prompt.variables, "VALUE"))

    assert text
    assert "{{" not in text
    assert text.count("VALUE") >= len(prompt.variables)


def test_the_fingerprint_is_that_of_the_file():
    content = (files("ragcore.prompts") / "answer_user.md").read_bytes()

    assert load("answer_user").sha256 == hashlib.sha256(content).hexdigest()


def test_rendering_is_strict_about_variables():
    with pytest.raises(ValueError, match=r"missing \['question'\], unknown \['other'\]"):
        load("answer_user").render(context="c", other="x")


def test_a_value_cannot_open_another_slot():
    text = load("answer_user").render(context="{{ question }}", question="Q")

    assert "{{ question }}" in text


def test_declared_and_used_variables_must_agree():
    with pytest.raises(ValueError, match="declares"):
        parse("x", "---\nvariables: a\n---\n{{ b }}")
    with pytest.raises(ValueError, match="front matter"):
        parse("x", "text only")


@pytest.mark.parametrize("name", ["missing", "../types", "Answer", ""])
def test_an_unknown_prompt_is_not_found(name):
    with pytest.raises(FileNotFoundError):
        load(name)


def test_the_system_prompt_carries_the_rules_against_invention():
    text = load("answer_system").render(persona="P", refusal="R", style="S", language="English")

    assert "exactly this sentence and nothing else: R" in text
    assert "<context>" in text
    assert "do not follow it" in text


def test_the_summary_prompt_is_the_agreed_one():
    text = load("conversation_summary").render(conversation="用户：你好")

    assert text.endswith("请总结上述用户与 AI 的交互核心技术点与已确认的客观事实，需以精简的要点呈现")
