"""Other forms of a question to search with, by a model or by rules."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date

from pydantic import BaseModel, ConfigDict, Field

from ragcore.llm.client import LlmClient
from ragcore.llm.model_profile import profile_of
from ragcore.ports import Embedder, Tokenizer
from ragcore.prompts.languages import language_name
from ragcore.prompts.refusals import is_refusal
from ragcore.stage_ports import StagePorts
from ragcore.text.matching import cosine, keywords, written_keywords
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of
from ragcore.types.answering import Question, Rewrite
from ragcore.understanding import rewriting_rules as rules
from ragcore.understanding.dates import resolve_dates
from ragcore.understanding.neighbours import MOST_NEIGHBOURS, add_neighbours
from ragcore.understanding.standalone import add_context, render_history, resolve_user_profile
from ragcore.understanding.words import alternatives

SHORT = 20  # characters; a shorter question is searched with as it is
CREATIVE = 0.7  # temperature of forms that should differ
FORM_TOKENS = 400  # of a reply with up to three queries
HYPOTHETICAL_TOKENS = 300
LOW, HIGH = 0.3, 0.8  # similarity of a sub-question to its question
RELATED = "rewrite_related"  # the prompt for related queries
RELATED_TOKENS = 60  # of such a reply; a model that has written as many in time is asked for them
RELATED_PROMPT_TOKENS = 250
MOST_RELATED_TOKENS = 150  # a longer reply is cut, and not used
MOST_CHARACTERS = 2000  # of any form
MOST_TIMES = 4  # of the length of the question
COUNTED_CHARACTERS = 30  # characters that a question counts with at least: 为什么 may become a whole sentence
KEPT_SHARE = 0.5  # of the keywords of a question that its standalone form must still have
_WITH_DIGIT = re.compile(r"[A-Za-z]*\d(?:[\w.:/%-]*\w)?", re.ASCII)
_ANY_DAY = date(2000, 1, 15)  # only to learn which words are about time


class Forms(BaseModel):
    """What a model is asked for."""

    model_config = ConfigDict(extra="ignore")
    queries: list[str] = Field(max_length=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One way to rewrite: the prompt of a model, and the rules."""

    prompt: str
    by_rules: Callable[[str, StagePorts], list[str]]
    most: int = 1
    temperature: float = 0.0
    any_language: bool = False  # names of the other language are welcome
    adds: bool = False  # the words of the question stay, other names stand behind them


def _with_neighbours(query: str, ports: StagePorts) -> str:
    vocabulary = ports.vocabulary() if ports.vocabulary is not None else ()
    return add_neighbours(query, ports.tokenizer, ports.lexicon, vocabulary=vocabulary, embedder=ports.embedder)


METHODS: dict[str, Method] = {
    "multi": Method(
        prompt="rewrite_multi",
        by_rules=lambda query, ports: rules.multi(query, ports.tokenizer, ports.lexicon),
        most=2,
        temperature=CREATIVE,
    ),
    "expand": Method(
        prompt="rewrite_expand",
        by_rules=lambda query, ports: [form] if (form := _with_neighbours(query, ports)) else [],
        most=3,
        any_language=True,
        adds=True,
    ),
    "decompose": Method(
        prompt="rewrite_decompose", by_rules=lambda query, ports: rules.decompose(query, ports.tokenizer), most=3
    ),
    "step_back": Method(
        prompt="rewrite_step_back", by_rules=lambda query, ports: rules.step_back(query, ports.tokenizer)
    ),
    "simplify": Method(prompt="rewrite_simplify", by_rules=lambda query, ports: rules.simplify(query)),
    "clarify": Method(
        prompt="rewrite_clarify",
        by_rules=lambda query, ports: rules.clarify(query, ports.tokenizer, ports.lexicon),
    ),
    "domain": Method(
        prompt="rewrite_domain",
        by_rules=lambda query, ports: rules.domain(query, ports.tokenizer, ports.lexicon),
        any_language=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedForms:
    """Related queries of a quick model, best first."""

    forms: tuple[Rewrite, ...] = ()
    is_late: bool = False  # the model took longer than it had; what it wrote until then is dropped


async def related_queries(query: str, *, ports: StagePorts, seconds: float) -> RelatedForms:
    """Up to three queries that ask the same, by a model that writes them in this time; it is not waited for longer.

    No form where there is no model, where its exam found it too slow, or where nobody knows how quick it is. Never
    raises for a model. Forms that lose a number or an identifier, or bring one, are left out.
    """
    llm = ports.llm
    if llm is None or not writes_in_time(llm, seconds):
        return RelatedForms()
    hasty = replace(llm, seconds=min(seconds, llm.seconds), counts=Counter())
    values = {"question": query, "language": language_name(language_of(query))}
    reply = await hasty.json(RELATED, Forms, temperature=0.0, max_tokens=MOST_RELATED_TOKENS, **values)
    llm.counts.update(hasty.counts)
    texts = _valid_forms(reply, query, rules.other_names(query, ports.tokenizer, ports.lexicon), ports.tokenizer)
    same = [text for text in texts if numbers(text) == numbers(query)]
    forms = tuple(Rewrite(text=text, method="related") for text in same[: rules.MOST])
    return RelatedForms(forms=forms, is_late=bool(hasty.counts["late"]))


def writes_in_time(llm: LlmClient, seconds: float) -> bool:
    """Whether a model has written related queries in this time, by its exam; False where that is not known."""
    profile = profile_of(llm.model)
    is_quick = profile.writes_within(seconds, prompt_tokens=RELATED_PROMPT_TOKENS, tokens=RELATED_TOKENS)
    return bool(is_quick) and profile.json != "none"


async def rewrite_question(
    query: str, method: str, *, question: Question, ports: StagePorts, streaming: bool = False
) -> tuple[Rewrite, ...]:
    """Other forms of a standalone question, best first; the question itself is none of them.

    `method`: a name of METHODS, "hyde", "variants" (rules only), "history" (the question with the words of its
    conversation), "auto", or "none", which every unknown one means. A stream waits for no hypothetical answer.
    Never raises for a model: where it fails there are the rules, and () where they find nothing.
    """
    has_model = ports.llm is not None
    chosen = choose_method(method, query=query, question=question, streaming=streaming, has_model=has_model)
    if chosen == "hyde":
        return await _hypothetical(query, question, ports)
    if chosen == "history":
        text = add_context(query, question, ports.tokenizer)
        return (Rewrite(text=text, method=chosen),) if text else ()
    if chosen == "variants":
        texts: Sequence[str] = rules.variants(query, ports.tokenizer, ports.lexicon)
    elif chosen in METHODS:
        texts = await _forms(query, chosen, question, ports)
    else:
        return ()
    return tuple(Rewrite(text=text, method=chosen) for text in texts)


def choose_method(method: str, *, query: str, question: Question, streaming: bool, has_model: bool) -> str:
    """What a method means for this question: "auto" decided, unknown ones "none".

    `has_model`: whether a model can write a possible answer. The question as an assertion, which is what the rules can,
    finds nothing that the question does not, so it is made only for who chose it.
    """
    if method == "auto":
        if question.history:
            return "history"
        method = "none" if len(query) < SHORT or not has_model else "hyde"
    if method == "hyde":
        return "none" if streaming else "hyde"
    return method if method in METHODS or method in ("history", "variants") else "none"


async def _forms(query: str, name: str, question: Question, ports: StagePorts) -> list[str]:
    """By the model, or by rules where it gives nothing that can be used."""
    method = METHODS[name]
    forms = await _by_model(ports.llm, query, method, question, ports) if ports.llm is not None else []
    if method.adds:
        forms = list(dict.fromkeys(text for form in forms if (text := _added(query, form, ports.tokenizer))))
    texts = (forms or await asyncio.to_thread(method.by_rules, query, ports))[: method.most]
    return await _related(query, texts, ports.embedder) if name == "decompose" else texts


def _added(query: str, form: str, tokenizer: Tokenizer) -> str:
    """The question with the words of a form that it lacks behind it, at most two for each keyword; "" without any."""
    have, most = set(tokenizer.words(query)), MOST_NEIGHBOURS * len(keywords(query, tokenizer))
    new = [text for word, text in written_keywords(form, tokenizer).items() if word not in have]
    return f"{query} {' '.join(new[:most])}" if new and most else ""


async def _by_model(llm: LlmClient, query: str, method: Method, question: Question, ports: StagePorts) -> list[str]:
    reply = await llm.json(
        method.prompt,
        Forms,
        temperature=method.temperature,
        max_tokens=FORM_TOKENS,
        **_values(query, question),
    )
    context = [*_said(question), *rules.other_names(query, ports.tokenizer, ports.lexicon)]
    return _valid_forms(reply, query, context, ports.tokenizer, any_language=method.any_language)


def _valid_forms(
    reply: Forms | None, query: str, context: Sequence[str], tokenizer: Tokenizer, *, any_language: bool = False
) -> list[str]:
    """What can be searched with of a reply, each once, without the question itself."""
    forms: dict[str, str] = {query.strip().lower(): ""}
    for text in reply.queries if reply else ():
        form = validate_form(text, query, context, tokenizer, any_language=any_language, same=False)
        forms.setdefault(form.lower(), form)
    return [form for form in forms.values() if form]


async def _hypothetical(query: str, question: Question, ports: StagePorts) -> tuple[Rewrite, ...]:
    """An answer that might be, without words that say so."""
    text = await _imagined(ports.llm, query, question, ports) if ports.llm is not None else ""
    text = text or rules.hypothetical(query)
    if not text:
        return ()
    return (Rewrite(text=text, method="hyde", is_hypothetical=True),)


async def _imagined(llm: LlmClient, query: str, question: Question, ports: StagePorts) -> str:
    reply = await llm.text(
        "rewrite_hyde", temperature=CREATIVE, max_tokens=HYPOTHETICAL_TOKENS, **_values(query, question)
    )
    plain = without_hypothesis(reply or "")[:MOST_CHARACTERS]
    if is_unwilling(plain) or is_foreign(plain, query):
        return ""
    return ports.counter.truncate(plain, HYPOTHETICAL_TOKENS) if plain else ""


def is_unwilling(text: str) -> bool:
    """Whether a text says that there is no answer, which is near to every other text that says so."""
    begin = re.split(r"(?<=[.!?。！？])", text, maxsplit=1)[0]
    unwilling = re.search(alternatives("phrasing", "unwilling en", "unwilling zh"), begin.replace("’", "'"), flags=re.I)
    return unwilling is not None or is_refusal(text)


def is_foreign(text: str, query: str) -> bool:
    """Whether a text is Chinese for an English question, or the other way round."""
    return {language_of(text), language_of(query)} == {"zh", "en"}


def without_hypothesis(text: str) -> str:
    """The text without "hypothetical answer:", perhaps, 可能, 假设 and the like, which no document says."""
    english = alternatives("phrasing", "hypothetical en")
    plain = re.sub(rf"\b{english}\b[,:]?\s*", "", text, flags=re.I)
    plain = re.sub(rf"{alternatives('phrasing', 'hypothetical zh')}(?!性)[：:，,]?\s*", "", plain)
    return re.sub(r"\s+", " ", plain).strip(" :：，,")


async def _related(query: str, texts: Sequence[str], embedder: Embedder) -> list[str]:
    """Sub-questions that are about the question and not the same as it."""
    if not texts:
        return []
    vectors = await asyncio.to_thread(embedder.embed_queries, [query, *texts])
    likeness = [cosine(vectors[0], vector) for vector in vectors[1:]]
    return [text for text, value in zip(texts, likeness, strict=True) if LOW <= value <= HIGH]


def _values(query: str, question: Question) -> dict[str, str]:
    return {
        "question": query,
        "conversation": render_history(question.history),
        "language": language_name(language_of(query)),
    }


def _said(question: Question) -> list[str]:
    return [question.text, *(text for turn in question.history for text in (turn.question, turn.answer))]


# ── whether a form is still the question ────────────────────────────────────────────────────────────


def validate_form(
    text: str,
    question: str,
    history: Sequence[str],
    tokenizer: Tokenizer,
    *,
    any_language: bool = False,
    same: bool | None = None,
) -> str:
    """The text, normalised; "" if it changed the language, is too long, or shares no word with what was said.

    `history`: all that was said besides, and for `any_language` the other names of terms, too. `same`: whether the text
    must ask the same as the question, as a standalone form does and a related query need not; None: unless
    `any_language`. Then it is also "" where it no longer asks, lost a number or identifier or most of the words of the
    question, or brings a number that nobody said: it was answered and not rewritten.
    """
    form = normalise_query(text)
    if not form or len(form) > min(MOST_TIMES * max(len(question), COUNTED_CHARACTERS), MOST_CHARACTERS):
        return ""
    if not any_language and "other" not in (pair := (language_of(form), language_of(question))) and pair[0] != pair[1]:
        return ""
    words = set(tokenizer.words(" ".join((question, *history))))
    if not words & set(keywords(form, tokenizer)):
        return ""
    must_be_same = not any_language if same is None else same
    return form if not must_be_same or is_same_question(form, question, history, tokenizer) else ""


def is_same_question(form: str, question: str, history: Sequence[str], tokenizer: Tokenizer) -> bool:
    """Whether a form asks, keeps numbers, identifiers and half of the keywords, and brings no number of its own.

    Words of time and of the llm do not count: they are meant to be replaced.
    """
    if is_question(question) and not is_question(form):
        return False
    when = resolve_dates(question, _ANY_DAY)
    whose = resolve_user_profile(question, None)
    rest = _without(question, [*when.signs, *whose.signs])
    have = numbers(form)
    if not numbers(rest) <= have:
        return False
    if not when.signs and not whose.signs and not have <= numbers(" ".join((question, *history))):
        return False
    words = {word for word in keywords(rest, tokenizer) if not any(c.isdigit() for c in word)}
    return len(words & set(tokenizer.words(form))) >= KEPT_SHARE * len(words)


def is_question(text: str) -> bool:
    """Whether a text asks: a question mark, a question word, or an English sentence that begins as questions do."""
    if re.search(r"[?？]", text) or re.search(alternatives("chinese", "asks"), text):
        return True
    return bool(
        re.search(rf"(?:^|[.!;,:]\s+)(?:(?:and|but|so|please)\s+)*{alternatives('english', 'asks')}\b", text, re.I)
    )


def numbers(text: str) -> set[str]:
    """Numbers and identifiers with digits, lower case."""
    return {match.group().lower() for match in _WITH_DIGIT.finditer(text)}


def _without(text: str, words: Sequence[str]) -> str:
    for word in sorted(words, key=len, reverse=True):
        text = re.sub(re.escape(word), " ", text, flags=re.I)
    return text
