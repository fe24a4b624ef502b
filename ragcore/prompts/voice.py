"""House style as a part of prompts: it comes behind the rules, which it cannot lift."""

from __future__ import annotations

from collections.abc import Iterator

from ragcore.options import VoiceOptions
from ragcore.prompts import load
from ragcore.text.normalise import normalise_query, visible

_TONES = {
    "plain": "plain and neutral, without praise or exclamations",
    "friendly": "friendly and direct, as a helpful colleague",
    "formal": "formal and polite (in Chinese with 您)",
    "technical": "technical and terse, with the terms of the field",
}


def voice_prompt(voice: VoiceOptions) -> str:
    """The part of a system prompt that asks for the house style; "" where there is none."""
    lines = list(_lines(voice))
    return load("answer_voice").render(habits="\n".join(lines)) if lines else ""


def named(voice: VoiceOptions, persona: str) -> str:
    """The persona with the name of the assistant, if it has one."""
    name = one_line(voice.assistant_name)
    return f"You are called “{name}”. {persona}" if name else persona


def _lines(voice: VoiceOptions) -> Iterator[str]:
    """One line a habit, in the order of the settings."""
    if voice.tone:
        yield f"- Tone: {_TONES[voice.tone]}."
    if audience := one_line(voice.audience):
        yield f"- Readers: {audience}"
    if words := avoided_words(voice):
        yield f"- Words to avoid, where another word says the same: {', '.join(words)}"
    if habits := one_line(voice.habits):
        yield f"- Language: {habits}"


def avoided_words(voice: VoiceOptions) -> list[str]:
    """The words to avoid, each once, in their order."""
    commas = one_line(voice.avoid_words).translate(str.maketrans("，、；;", ",,,,"))
    return list(dict.fromkeys(word for part in commas.split(",") if (word := part.strip())))


def one_line(text: str) -> str:
    """Without line breaks and invisible characters: a setting cannot look like a part of the prompt of its own."""
    return normalise_query(visible(text.replace("\n", " ").replace("\r", " ")))
