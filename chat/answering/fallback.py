"""Texts in place of an answer from documents: refusals, a page of search results, small talk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from chat.types import Style
from ragcore.llm.client import LlmClient
from ragcore.options import VoiceOptions
from ragcore.ports import Tokenizer
from ragcore.prompts.refusals import refusal
from ragcore.prompts.voice import named
from ragcore.text.code_blocks import CODE_SPAN, text_parts
from ragcore.text.markdown import without_pictures
from ragcore.text.matching import keywords
from ragcore.text.scripts import language_of
from ragcore.text.value_kinds import ValueKind
from ragcore.types import Language, Source
from ragcore.types.answering import Question, Turn
from ragcore.understanding.small_talk import needs_retrieval, small_talk_kind

ASSISTANT = "You are the assistant of an organisation's knowledge base."
SHOWN_TURNS = 10
SHOWN_CHARACTERS = 300  # of an answer, for the model
GREETING = {
    "zh": "您好！请提出与知识库有关的问题，我会根据文档回答并注明出处。",
    "en": "Hello! Ask about what is in the knowledge base; the answer will come from its documents, with sources.",
}
YOU_ARE_WELCOME = {
    "zh": "不客气！如有其他问题，请继续提问。",
    "en": "You are welcome! Ask again whenever you have a question.",
}
GOODBYE = {"zh": "再见！", "en": "Goodbye!"}
QUESTIONS_SO_FAR = {"zh": "到目前为止，您问过：", "en": "So far you have asked:"}
NO_QUESTIONS = {"zh": "您还没有提出问题。", "en": "You have not asked a question yet."}
_COURTESIES = {"greetings": GREETING, "thanks": YOU_ARE_WELCOME, "farewells": GOODBYE}
SNIPPET_CHARACTERS = 160
LEAD_CHARACTERS = 20  # before its first match
INTRODUCTION = {
    "zh": "没有找到答案。",
    "en": "No answer found.",
}
BY_WORDS = {"zh": "关键词命中的段落：", "en": " Keyword matches:"}
BY_BOTH = {"zh": "最相近的段落：", "en": " Closest passages:"}
BY_MEANING = {
    "zh": "未命中关键词，以下为语义最相近的段落：",
    "en": " No keyword matches; closest in meaning:",
}
NOT_GIVEN = {"zh": "以下段落没有给出所问的{values}。", "en": " None of these passages gives the {values} asked for."}
NOT_IN_FILES = {
    "zh": "附件中没有找到该问题的答案。",
    "en": "No answer was found in the attached file.",
}
NOT_IN_OTHERS = {
    "zh": "其他文档中没有相关内容。",
    "en": "Other documents do not contain an answer.",
}
NOT_TRANSLATED = {
    "zh": "回答按文档原文引用，翻译需要接入语言模型。",
    "en": "Answers are quoted as their documents word them; a language model is needed to translate them.",
}
IN_FILES = {"zh": "附件内容", "en": "From the attached file"}
IN_OTHERS = {"zh": "其他文档内容", "en": "From other documents"}
_SPACE = re.compile(r"\s+")
_MARKS = re.compile(
    r"^[^\S\n]*+(?:(?=[-:| ]*+$)[-:| ]*?-{3,}+[-:| ]*+\s*|(?:(?:#{1,6}|[-*+>])\s*)+)|[*`~]+|(?<!\w)_+|(?<!_)_++(?!\w)",
    re.MULTILINE,
)
_POINT = r"(?:[-*+][ \t]+(?=[^\s|]))?"  # the mark of a list in a cell
_CELLS = re.compile(rf"(?:(?<![ \t])[ \t]+)?\|[ \t]*{_POINT}")
_BREAK = re.compile(rf"\\$|<br\s*/?>[ \t]*{_POINT}", re.MULTILINE | re.IGNORECASE)
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{0,2000}\)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_SIGN = re.compile(r"[!-/:-@\[-`{-~]")
_HIDDEN = 0xE000  # private use: a character that was escaped, or stands in code, is no mark
_SHOWN = {_HIDDEN + code: chr(code) for code in range(0x21, 0x7F)}
_EDGES = re.compile(r"^[ ·]+|[ ·]+$", re.MULTILINE)
_MAIL_ADDRESS = re.compile(r"<([^\s<>@]{1,64}@[^\s<>@]{1,255})>")
# What would be read as Markdown where it stands. `<` is left to the filter of links, which every text passes.
_MARKDOWN = re.compile(r"([`*\[\]~]|^[#>]|\\(?=[!-/:-@\[-`{-~]|\Z)|(?<![^\W_])_+|_+(?![^\W_]))")
_LATIN = re.compile(r"[A-Za-z0-9]")
_SENTENCE_END = re.compile(r"[.!?]\s+|[。！？；]\s*")
_CUT = re.compile(r"[A-Za-z0-9]{2}")  # both sides of a place within a word
_REST_OF_WORD = re.compile(r"[A-Za-z0-9]*\s*")


def refusal_text(query: str, style: str) -> str:
    """The refusal sentence of the style, in the language of the question."""
    return refusal(style, language_of(query))


def refusal_sentences() -> frozenset[str]:
    """All refusal sentences: they claim nothing, so their support is not judged."""
    refused = (refusal(style, language) for style in get_args(Style) for language in get_args(Language))
    of_answers = (*NOT_IN_FILES.values(), *NOT_IN_OTHERS.values(), *NOT_TRANSLATED.values())
    return frozenset([*refused, *of_answers])


# ── search results ──────────────────────────────────────────────────────────────────────────────


def format_search_results(
    question: str,
    sources: Sequence[Source],
    *,
    tokenizer: Tokenizer,
    language: Language,
    missing: Sequence[ValueKind] = (),
) -> str:
    """A Markdown list: title, page, snippet with the words of the question in bold, and the source's marker.

    `missing`: kinds of values that are asked for and that none of the sources gives.
    """
    pattern = _words_pattern(keywords(question, tokenizer))
    lines = [_line(source, pattern) for source in sources]
    with_words = sum(_has_words(source, pattern) for source in sources)
    how = (BY_WORDS if with_words == len(sources) else BY_BOTH) if with_words else BY_MEANING
    spoken: Language = "zh" if language == "zh" else "en"
    return "\n".join([f"{INTRODUCTION[spoken]}{_not_given(missing, spoken)}{how[spoken]}", "", *lines])


def _not_given(kinds: Sequence[ValueKind], language: Language) -> str:
    names = [kind.name_in(language) for kind in kinds]
    return NOT_GIVEN[language].format(values=("、" if language == "zh" else " or ").join(names)) if names else ""


def without_introduction(html: str) -> str:
    """A page of search results as HTML, below a heading that says already that there is no answer."""
    for introduction in INTRODUCTION.values():
        before, separator, after = html.partition(f"<p>{introduction}")
        if separator:
            return f"{before}<p>{after.lstrip()}"
    return html


def _has_words(source: Source, pattern: re.Pattern[str] | None) -> bool:
    passage = source.passage
    text = f"{passage.title} {_readable(passage.text)}"
    return pattern is not None and pattern.search(text) is not None


def _line(source: Source, pattern: re.Pattern[str] | None) -> str:
    passage = source.passage
    title = _escaped(passage.title or passage.external_id or str(passage.document))
    page = f" (p. {passage.page})" if passage.page is not None else ""
    head = f"{source.number}. "
    inside = " " * len(head)  # the snippet on a line of its own, in the same entry of the list
    return f"{head}**{title}**{page}\\\n{inside}{highlighted(passage.text, pattern)} [{source.number}]"


def highlighted(text: str, pattern: re.Pattern[str] | None) -> str:
    """One line of Markdown: the part of the text with most matches, matches in bold."""
    plain = _SPACE.sub(" ", _readable(text)).strip()
    start, stop = _whole_words(plain, _densest(plain, pattern))
    part = plain[start:stop]
    marked: list[str] = []
    end = 0
    for match in pattern.finditer(part) if pattern else ():
        # neighbours share their bold: `**a****b**` is no Markdown
        if marked and match.start() == end:
            marked.pop()
        else:
            marked += [_escaped(part[end : match.start()]), "**"]
        marked += [_escaped(match.group()), "**"]
        end = match.end()
    marked.append(_escaped(part[end:]))
    before, after = "… " if start else "", " …" if stop < len(plain) else ""
    return f"{before}{''.join(marked)}{after}"


def _readable(markdown: str) -> str:
    """The text without marks of headings, lists, emphasis, links and addresses; cells of tables between dots.

    Code keeps its characters, and loses its fence and its back ticks.
    """
    parts = (part if isinstance(part, str) else f"{_hidden(part.code)}\n" for part in text_parts(markdown))
    with_code = CODE_SPAN.sub(lambda match: _hidden(match["code"]), "".join(parts))
    hidden = _ESCAPE.sub(lambda match: _hidden(match[1]), without_pictures(with_code))
    plain = _MARKS.sub("", _LINK.sub(r"\1", _BREAK.sub(" ", hidden)))
    return _MAIL_ADDRESS.sub(r"\1", _EDGES.sub("", _CELLS.sub(" · ", plain)).translate(_SHOWN))


def _hidden(text: str) -> str:
    return _SIGN.sub(lambda match: chr(_HIDDEN + ord(match[0])), text)


def _densest(text: str, pattern: re.Pattern[str] | None) -> int:
    """Where the window with most different matches begins, a little before its first match."""
    matches = [(match.start(), match.group().lower()) for match in pattern.finditer(text)] if pattern else []
    if not matches:
        return 0

    def different(start: int) -> int:
        return len({word for position, word in matches if start <= position < start + SNIPPET_CHARACTERS})

    best = max((position for position, _ in matches), key=different)
    return max(0, min(best - LEAD_CHARACTERS, len(text) - SNIPPET_CHARACTERS))


def _whole_words(text: str, start: int) -> tuple[int, int]:
    """The window from `start` on without parts of words at its ends; begins with a sentence if one is near."""
    stop = start + SNIPPET_CHARACTERS
    if start and (sentences := list(_SENTENCE_END.finditer(text, start - 1, start + LEAD_CHARACTERS))):
        start = sentences[-1].end()
    elif start and _CUT.match(text, start - 1):
        start = _REST_OF_WORD.match(text, start).end()  # type: ignore[union-attr]  # it matches the empty text, too
    if stop < len(text) and _CUT.match(text, stop - 1):
        stop = text.rfind(" ", start, stop) if " " in text[start:stop] else stop
    return start, min(stop, len(text))


def _words_pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    """Matches the words; stemmed Latin ones with whatever ending they have in the text."""
    longest_first = sorted(words, key=len, reverse=True)
    parts = [rf"\b{re.escape(word)}\w*" if _LATIN.match(word) else re.escape(word) for word in longest_first]
    return re.compile("|".join(parts), re.IGNORECASE) if parts else None


def _escaped(text: str) -> str:
    """Markdown that shows the text, with as few back slashes as that takes."""
    return _MARKDOWN.sub(lambda match: "".join(f"\\{char}" for char in match[1]), text)


# ── small talk ──────────────────────────────────────────────────────────────────────────────────


async def small_talk_reply(question: Question, *, llm: LlmClient | None, voice: VoiceOptions) -> tuple[str, str]:
    """The reply and the model that wrote it; without a model a fixed one, or the questions so far."""
    language: Language = "zh" if question.language == "zh" else "en"
    turns = question.history[-SHOWN_TURNS:]
    if llm is not None:
        reply = await llm.text(
            "conversation",
            temperature=0.3,
            persona=named(voice, ASSISTANT),
            conversation=_conversation(turns),
            question=question.text,
        )
        if reply and reply.strip():
            return reply.strip(), llm.model.name
    return _fixed_reply(question, language), ""


def _fixed_reply(question: Question, language: Language) -> str:
    kind = small_talk_kind(question.text)
    if kind in _COURTESIES:
        return _COURTESIES[kind][language]
    queries = [turn.question for turn in question.history if needs_retrieval(turn.question)][-SHOWN_TURNS:]
    if not queries:
        return NO_QUESTIONS[language]
    return "\n".join([QUESTIONS_SO_FAR[language], "", *(f"- {query}" for query in queries)])


def _conversation(turns: tuple[Turn, ...]) -> str:
    return (
        "\n".join(f"User: {turn.question}\nAssistant: {turn.answer[:SHOWN_CHARACTERS]}" for turn in turns) or "(none)"
    )
