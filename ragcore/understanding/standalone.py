"""A question without its conversation, its day and its user, by rules; and the conversation around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ragcore.ports import Tokenizer
from ragcore.text.matching import keywords, written_keywords
from ragcore.text.normalise import normalise_query
from ragcore.text.question_core import message_question
from ragcore.text.scripts import language_of
from ragcore.types import Profile
from ragcore.types.answering import Question, Turn
from ragcore.understanding import chinese, english
from ragcore.understanding.answer_language import SIGN, wish_in_conversation
from ragcore.understanding.chinese_mentions import question_mentions as chinese_question_mentions
from ragcore.understanding.dates import resolve_dates
from ragcore.understanding.english_mentions import names
from ragcore.understanding.english_mentions import question_mentions as english_question_mentions
from ragcore.understanding.mentions import Attention, Mention, Resolution

Dependence = Literal["history", "date", "profile"]

EARLIER_TURNS = 8  # that are read; what came before has faded
MOST_TERMS = 8
PROMPT_TURNS = 4  # that a model is shown
ANSWER_CHARACTERS = 500  # of each of their answers
# Of the product's search on MTRAG (198 questions, 791 passages) nDCG@10 was .924 with these numbers and .921 with the
# words of six turns, twelve of them, and the question four times; .942 and .936 where the forms' scores are averaged.
CONTEXT_TURNS = 2  # earlier questions whose words are context of a search; older ones have faded
MOST_NAMED = 2  # things that the conversation is about
MOST_CONTEXT = 6  # words of earlier questions, those of the latest one first
OWN_TIMES = 3  # that the question stands in its form with context: its words count so much more
FEW_WORDS = 3  # keywords from which a question can have a subject of its own

_ZH_OWN = r"(?:我们|我們|我|咱们|咱|本)(?:的|所在的?|负责的?|所属的?)?"
_DEPARTMENT_ZH = re.compile(rf"{_ZH_OWN}(?P<noun>部门|部門|团队|團隊|科室|处室)")
_PRODUCT_ZH = re.compile(rf"{_ZH_OWN}(?P<noun>产品线|产品|產品)(?!经理)")
_ROLE_ZH = re.compile(rf"{_ZH_OWN}(?P<noun>岗位|崗位|职位|職位|角色|职务|工作岗位)")
_DUTY_ZH = re.compile(
    r"(?:(?<=^)|(?<=[，。？！,\s]))我(?=(?:的)?(?:应该|应当|需要|要|必须|可以|有权|能|该|的?职责|负责))"
)
_DEPARTMENT_EN = re.compile(r"\b(?:my|our)\s+(?P<noun>department|team|group|unit)\b", re.I)
_PRODUCT_EN = re.compile(r"\b(?:my|our)\s+(?P<noun>product(?:\s+line)?)\b(?!\s+(?:manager|owner))", re.I)
_ROLE_EN = re.compile(r"\b(?:my|our)\s+(?P<noun>role|position|job|job title)\b", re.I)
_DUTY_EN = re.compile(
    r"\b(?P<aux>do|should|must|may|can)\s+I\b(?=\s+(?:need|have|do|attend|take|complete|be|apply|sign|approve|know|report))"
)

_UP_TO_VERSION = re.compile(r".*\d\.\d+(?=[\u4e00-\u9fff])")  # behind it a verb may stand: 固件2.0.1升级


@dataclass(frozen=True, slots=True, kw_only=True)
class Standalone:
    """A question that can be searched with as it stands."""

    text: str
    changed: bool
    signs: tuple[str, ...] = ()  # the words or gaps that showed that it depends on something
    terms: tuple[str, ...] = ()  # its own keywords, then what the conversation is about, by relevance
    depends_on: frozenset[Dependence] = frozenset()  # whether or not it could be resolved


def standalone_by_rules(question: Question, tokenizer: Tokenizer) -> Standalone:
    """What is left open by the words of a question is filled in from its conversation, its day and its asker.

    Of a long message the part that asks is read. A question without a sign of dependence stays as it is. "history" is
    in `depends_on` only with earlier turns.
    """
    turns = _spoken(question, EARLIER_TURNS)
    whose = resolve_user_profile(message_question(question.text), question.profile)
    when = resolve_dates(whose.text, question.today)
    resolution = _resolve(when.text, turns, tokenizer) if turns else Resolution(when.text)
    depends: dict[Dependence, bool] = {
        "history": bool(resolution.signs),
        "date": bool(when.signs),
        "profile": bool(whose.signs),
    }
    changed = resolution.text != question.text
    return Standalone(
        text=" ".join(resolution.text.split()) if changed else question.text,
        changed=changed,
        signs=(*whose.signs, *when.signs, *resolution.signs),
        terms=_terms(resolution, turns, tokenizer),
        depends_on=frozenset(name for name, yes in depends.items() if yes),
    )


def _spoken(question: Question, most: int) -> list[tuple[str, str]]:
    """The latest turns as (question, answer), oldest first; questions with single spaces, which forms take over."""
    turns = question.history[-most:] if most else ()
    return [(message_question(normalise_query(_as_understood(turn))), turn.answer) for turn in turns]


def _as_understood(turn: Turn) -> str:
    """A turn's question as it was answered; as it was written where that may only have put a date into it."""
    return turn.question if not turn.understood or resolve_dates(turn.question, None).signs else turn.understood


def topics(turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> list[str]:
    """What the conversation is about, by attention."""
    return [mention.text for mention in _attention(turns, tokenizer).ranked()]


def names_of(text: str, tokenizer: Tokenizer) -> list[str]:
    """Names in a question: capitalised or with digits in English, titles, persons and Latin words in Chinese."""
    if language_of(text) != "zh":
        return [mention.text for mention in names(text)]
    mentions = _mentions(text, tokenizer)
    return [
        m.text for m in mentions if m.is_name or m.kind == "person" or any(c.isascii() and c.isalnum() for c in m.text)
    ]


def thread_subject(question: Question, tokenizer: Tokenizer) -> str:
    """What the last question is about, for a question that names nothing of its own; "" without turns.

    A name or code of the last question in its standalone form, otherwise what has most attention.
    """
    turns = _spoken(question, EARLIER_TURNS)
    if not turns:
        return ""
    last = _understood(turns, tokenizer)
    name = next((text for text in (*names_of(last, tokenizer), *topics(turns, tokenizer)) if text), "")
    match = _UP_TO_VERSION.match(name)
    return match.group() if match else name


def _resolve(text: str, turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> Resolution:
    if wish_in_conversation(text, [question for question, _answer in turns]) is not None:
        return Resolution(_understood(turns, tokenizer), (SIGN,), True)
    language = language_of(text)
    if language == "zh" or (language == "other" and language_of(turns[-1][0]) == "zh"):
        return chinese.resolve_references(text, turns, tokenizer)
    return english.resolve_references(text, turns)


def _attention(turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> Attention:
    if turns and language_of(turns[-1][0]) == "zh":
        return chinese.track_attention(turns, tokenizer)[0]
    return english.track_attention(turns)[0]


def _terms(resolution: Resolution, turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> tuple[str, ...]:
    names_of_question = [mention.text for mention in _mentions(resolution.text, tokenizer)] or keywords(
        resolution.text, tokenizer
    )
    context = topics(turns, tokenizer) if resolution.signs and turns else []
    return tuple({term.lower(): term for term in reversed([*names_of_question, *context])}.values())[::-1][:MOST_TERMS]


def _mentions(text: str, tokenizer: Tokenizer) -> list[Mention]:
    if language_of(text) == "zh":
        return chinese_question_mentions(text, tokenizer)
    return english_question_mentions(text)


# ── the user ────────────────────────────────────────────────────────────────────────────────────────


def resolve_user_profile(text: str, profile: Profile | None) -> Resolution:
    """Replaces what the profile knows and names the other signs; 我 and "I" without a duty mean nothing here."""
    asker = profile or Profile()
    signs: list[str] = []

    def put(pattern: re.Pattern[str], value: str, form: str, sentence: str) -> str:
        def one(match: re.Match[str]) -> str:
            signs.append(match.group())
            if not value:
                return match.group()
            noun = match.groupdict().get("noun") or ""
            has_it = bool(noun) and value.lower().endswith(noun.lower())
            return value if has_it else form.format(value=value, noun=noun, aux=match.groupdict().get("aux") or "")

        return pattern.sub(one, sentence)

    resolved = put(_DEPARTMENT_ZH, asker.department, "{value}", text)
    resolved = put(_PRODUCT_ZH, asker.product, "{value}", resolved)
    resolved = put(_ROLE_ZH, asker.role, "{value}{noun}", resolved)
    resolved = put(_DUTY_ZH, asker.role, "{value}", resolved)
    resolved = put(_DEPARTMENT_EN, asker.department, "the {value} {noun}", resolved)
    resolved = put(_PRODUCT_EN, asker.product, "{value}", resolved)
    resolved = put(_ROLE_EN, asker.role, "the {value} {noun}", resolved)
    resolved = put(_DUTY_EN, asker.role, "{aux} I as {value}", resolved)
    return Resolution(resolved, tuple(signs), resolved != text)


# ── the conversation ────────────────────────────────────────────────────────────────────────────────


def render_history(history: Sequence[Turn]) -> str:
    """The latest turns as lines, oldest first; "-" without any."""
    lines = []
    for turn in history[-PROMPT_TURNS:]:
        lines.append(f"User: {turn.question}")
        if turn.answer:
            lines.append(f"Assistant: {turn.answer[:ANSWER_CHARACTERS]}")
    return "\n".join(lines) or "-"


def add_context(query: str, question: Question, tokenizer: Tokenizer) -> str:
    """The question, its own words first and foremost, with what the conversation is about; "" where that adds nothing.

    Meant for searching only: names of the topic come first, then words of the latest questions, the last one before
    the one before it; each once. "" also where the question has turned to another subject.
    """
    if has_new_subject(query, question, tokenizer):
        return ""
    words_of_query = {word.lower() for word in keywords(query, tokenizer)}
    words: dict[str, str] = {}  # by keyword, as they were written last
    for turn in reversed(question.history[-CONTEXT_TURNS:]):
        for word, spelling in written_keywords(turn.question, tokenizer).items():
            if word not in words_of_query:
                words.setdefault(word, spelling)
    pairs = _spoken(question, len(question.history))
    names_of_context = [text for text in topics(pairs, tokenizer)[:MOST_NAMED] if text.lower() not in query.lower()]
    context = [*names_of_context, *dict.fromkeys(list(words.values())[:MOST_CONTEXT])]
    return " ".join([query] * OWN_TIMES + context) if context else ""


def within_conversation(query: str, question: Question, tokenizer: Tokenizer) -> str:
    """The question behind the one before it, as that was understood; "" where it repeats that, and without turns.

    Where the one before has few words itself, the one before that stands there, too.
    """
    pairs = _spoken(question, EARLIER_TURNS)
    understood: list[str] = []
    for last in range(len(pairs), max(len(pairs) - CONTEXT_TURNS, 0), -1):
        understood.insert(0, _understood(pairs[:last], tokenizer))
        if len(set(keywords(understood[0], tokenizer))) >= FEW_WORDS:
            break
    earlier, words_of_query = set(keywords(" ".join(understood), tokenizer)), set(keywords(query, tokenizer))
    return " ".join([*understood, query]) if 2 * len(earlier & words_of_query) < len(earlier) else ""


def _understood(turns: Sequence[tuple[str, str]], tokenizer: Tokenizer) -> str:
    """The last question of some turns in its standalone form; a wish for another language is none."""
    questions = [question for question, _answer in turns]
    while wish_in_conversation(questions[-1], questions[:-1]) is not None:
        questions.pop()
    turns = turns[: len(questions)]
    if language_of(turns[-1][0]) == "zh":
        return chinese.track_attention(turns, tokenizer)[1]
    return english.track_attention(turns)[1]


def has_new_subject(query: str, question: Question, tokenizer: Tokenizer) -> bool:
    """Whether a question names something and has no keyword in common with the turns before it.

    Without a name it may well be about what was spoken of in other words, and a question that was rewritten is.
    """
    words_of_query = set(keywords(query, tokenizer))
    if query != question.text or len(words_of_query) < FEW_WORDS or not names_of(query, tokenizer):
        return False
    conversation = " ".join(f"{turn.question} {turn.answer}" for turn in question.history[-CONTEXT_TURNS:])
    return not words_of_query & set(tokenizer.words(conversation))
