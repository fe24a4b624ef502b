"""Attached files as the subject of a question: searched first, and alone where they answer it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from chat.answering.answerability import LEAST_RATE, Verdict
from chat.answering.context import AnswerContext
from chat.answering.fallback import IN_FILES, IN_OTHERS, NOT_IN_FILES, NOT_IN_OTHERS
from chat.answering.retrieval import SearchOutcome
from chat.attachments.search import MOST, SHARE_OF_BEST, Attached, attached_scores
from knowledge import model_registry
from knowledge.search_profile import Retrieved
from knowledge.wiring import query_of
from ragcore.answerability import RelevanceJudge, score_answerability, threshold_for
from ragcore.answerability.confidence import answer_confidence
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.extractive.sentences import read_statements
from ragcore.extractive.summary import summary_passages
from ragcore.options import RetrievalOptions
from ragcore.ports import AnswerPart
from ragcore.prompts import load
from ragcore.text.lexical_features import idf_in
from ragcore.text.matching import keywords
from ragcore.text.scripts import language_of
from ragcore.types import Query, Source, State
from ragcore.types.answering import AnswerState, Ranked
from ragcore.understanding.file_questions import FileQuestion, read_file_question

SUMMARY_SCORE = 0.9  # that a summary of a file answers the wish for one
TOPIC_WORDS = 0.5  # share of a topic's words that a passage must have
CLOSEST = 3  # passages of the files on a page of search results
SAID_WORDS = 0.6  # share of a question's words in one sentence that suffices whatever it means
NEAR_SENTENCE = {"zh": 0.6, "en": 0.68}  # cosine of question and best sentence, as a share of `min_cosine`


@dataclass(slots=True, kw_only=True)
class AttachedSubject:
    """The files that a question is about, while it is answered. `score`, `answers`, `ranked`: of the last search."""

    attached: Attached
    file_question: FileQuestion
    question: str  # standalone, as written
    false_refusals: float
    min_cosine: float  # from which passages of the knowledge sets count as near, on the scale of the embedding model
    is_bound: bool  # the question cannot be about anything else; else the subject may have changed
    score: float = 0.0  # 0 to 1, that the files answer
    answers: bool = False
    ranked: tuple[Ranked, ...] = ()
    _query: Query | None = field(default=None, repr=False)

    @property
    def is_alone(self) -> bool:
        """Whether no other document is to be searched."""
        return self.answers and not self.file_question.wants_others

    @property
    def is_summary(self) -> bool:
        return self.file_question.kind == "overview"

    @property
    def plain_question(self) -> str:
        """The question without its mention of the file, as other documents are asked."""
        return self.file_question.text if self.is_bound and not self.is_summary else self.question

    def search(self) -> tuple[Ranked, ...]:
        """The passages of the files that the question is answered from, best first; of a summary in their order."""
        if self.is_summary:
            passages = summary_passages(self.attached.passages, model_registry.tokenizer())
            self.score, self.answers = SUMMARY_SCORE, bool(passages)
            self.ranked = tuple(Ranked(passage=passage, score=1.0 - at * 1e-3) for at, passage in enumerate(passages))
            return self.ranked
        query = self.query
        scores = attached_scores(self.attached, query)
        best = float(scores.max())
        order = [int(at) for at in np.argsort(-scores, kind="stable")[:MOST] if scores[at] >= SHARE_OF_BEST * best]
        self.ranked = tuple(
            Ranked(passage=self.attached.passages[at], score=1.0 - place * 1e-3) for place, at in enumerate(order)
        )
        self._judge(self.ranked, query)
        return self.ranked

    @property
    def query(self) -> Query:
        """The question as it is put to the files, with the rarity of its words in them."""
        if self._query is None:
            query, tokenizer = query_of(self.file_question.text), model_registry.tokenizer()
            texts = [set(tokenizer.terms(f"{passage.title} {passage.text}")) for passage in self.attached.passages]
            vocabulary = set().union(*texts)
            weights = idf_in([term for term in query.terms if term in vocabulary], texts)
            self._query = replace(query, weights=weights)
        return self._query

    def _judge(self, ranked: Sequence[Ranked], query: Query) -> None:
        sources = [
            Source(number=at, passage=item.passage, text=item.passage.text, score=1 / at)
            for at, item in enumerate(ranked, start=1)
        ]
        if self.file_question.kind == "topic":
            self.score = max((self._topic_share(source) for source in sources), default=0.0)
            self.answers = self.score >= TOPIC_WORDS
            return
        judged = score_answerability(
            self.file_question.text,
            sources,
            tokenizer=model_registry.tokenizer(),
            embedder=CachingEmbedder(model_registry.embedder()),
            idf=query.weights or None,
        )
        if not self._is_near(sources):
            self.score, self.answers = judged.score, False
            return
        passages, rate = len(self.attached.passages), self.false_refusals
        least = threshold_for(language_of(self.file_question.text), passages, max(rate, LEAST_RATE)) if rate else 0.0
        self.score, self.answers = judged.score, judged.is_answerable(least, passages)

    def _is_near(self, sources: Sequence[Source]) -> bool:
        """Whether a sentence is about the question, by its words or its meaning.

        The judgement of sources is drawn for collections of documents. In a file of a page hardly any word is rare, so
        that a question about something else passes it by one common word.
        """
        tokenizer, embedder = model_registry.tokenizer(), CachingEmbedder(model_registry.embedder())
        words = set(keywords(self.file_question.text, tokenizer))
        texts = [statement.text for statement in read_statements(sources, tokenizer)]
        shares = [sum(word in text.lower() for word in words) / max(len(words), 1) for text in texts]
        if max(shares, default=0.0) >= SAID_WORDS:
            return True
        if not texts or not any(word in source.text.lower() for source in sources for word in words):
            return False
        cosines = embedder.embed_documents(texts) @ embedder.embed_queries([self.file_question.text])[0]
        spoken = "zh" if language_of(self.file_question.text) == "zh" else "en"
        return float(cosines.max()) >= NEAR_SENTENCE[spoken] * self.min_cosine

    def _topic_share(self, source: Source) -> float:
        words = set(keywords(self.file_question.text, model_registry.tokenizer())) or {self.file_question.text.lower()}
        text = f"{' '.join(source.passage.heading_path)} {source.text}".lower()
        return sum(word.lower() in text for word in words) / len(words)

    # ── what becomes of it ──────────────────────────────────────────────────────────────────────

    def outcome(self) -> SearchOutcome:
        """The search as one of nothing but the files: no passage of theirs stands in the trace, which others read."""
        state = State(query=self.query if not self.is_summary else query_of(self.file_question.text))
        return SearchOutcome(retrieved=Retrieved(state=state, relevant=True, timings_ms={}, searched=0), seconds=0.0)

    def verdict(self) -> Verdict:
        """That of an answer from the files."""
        return Verdict(is_answerable=self.answers, most_confidence=answer_confidence(self.score))

    def judge(self) -> RelevanceJudge | None:
        """Says which quotations of the files answer the question; None where nothing is to be judged."""
        if self.file_question.kind != "question":
            return None
        return RelevanceJudge(
            question=self.file_question.text, tokenizer=model_registry.tokenizer(), idf=self.query.weights or None
        )

    def parts(self, sources: Sequence[Source]) -> tuple[AnswerPart, ...]:
        """How an answer is put together from quotations; () where the subject has changed."""
        spoken = "zh" if language_of(self.question) == "zh" else "en"
        of_files = tuple(source for source in sources if source.passage.chunk < 0)
        of_sets = tuple(source for source in sources if source.passage.chunk >= 0)
        lead = f"#### {IN_OTHERS[spoken]}\n\n"
        if not of_sets:
            return (AnswerPart(question=self.file_question.text, sources=of_files, is_summary=self.is_summary),)
        if self.file_question.wants_others:
            of_answer = of_files if self.answers else ()
            return (
                AnswerPart(
                    question=self.file_question.text,
                    sources=of_answer,
                    lead=f"#### {IN_FILES[spoken]}\n\n",
                    otherwise=NOT_IN_FILES[spoken],
                ),
                AnswerPart(question=self.plain_question, sources=of_sets, lead=lead, otherwise=NOT_IN_OTHERS[spoken]),
            )
        if not self.is_bound:
            return ()
        return (
            AnswerPart(question="", sources=(), otherwise=NOT_IN_FILES[spoken]),
            AnswerPart(question=self.plain_question, sources=of_sets, lead=lead),
        )

    def closest_first(self, sources: Sequence[Source]) -> list[Source]:
        """Where nothing answers: the closest passages of the files, then the other sources, numbered anew.

        In whatever language the file is: the meaning of a passage ranks it where no word of the question stands in it.
        """
        best = max((source.score for source in sources), default=1.0)
        of_files = [
            Source(number=0, passage=item.passage, text=item.passage.text, score=best) for item in self.ranked[:CLOSEST]
        ]
        of_sets = (source for source in sources if source.passage.chunk >= 0)
        return [replace(source, number=at) for at, source in enumerate([*of_files, *of_sets], start=1)]

    def introduction(self) -> str:
        """What a refusal or a page of search results begins with; "" where the subject has changed."""
        if not self.is_bound:
            return ""
        return NOT_IN_FILES["zh" if language_of(self.question) == "zh" else "en"]

    def instructions(self, sources: Sequence[Source]) -> str:
        """What a language model is told of the files among its sources; "" without any."""
        numbers = [source.number for source in sources if source.passage.chunk < 0]
        if not numbers:
            return ""
        spoken = "zh" if language_of(self.question) == "zh" else "en"
        return load("answer_attached").render(
            numbers=", ".join(f"[{number}]" for number in numbers),
            absent=NOT_IN_FILES[spoken],
            heading=f"#### {IN_OTHERS[spoken]}",
        )


def attached_subject(context: AnswerContext, state: AnswerState) -> AttachedSubject | None:
    """The attached files as the subject of this question; None where it has none, or another one.

    A question that comes with a file or speaks of one is about it. One that follows such a turn is about it, too, as
    long as the files answer it or it cannot be understood without the turn.
    """
    attached = context.attached
    if attached is None or attached.is_trial:
        return None
    file_question = read_file_question(context.question.text)
    depends = state.query != context.question.text
    is_bound = (
        attached.is_new
        or file_question.names_file
        or (attached.was_subject and (depends or file_question.kind != "question"))
    )
    if not is_bound and not attached.was_subject:
        return None
    if depends and file_question.kind == "question":
        file_question = replace(read_file_question(state.query), wants_others=file_question.wants_others)
    return AttachedSubject(
        attached=attached,
        file_question=file_question,
        question=state.query,
        false_refusals=context.config.options.false_refusals,
        min_cosine=model_registry.cosine_floor(tenant_id=context.scope.tenant_id) or RetrievalOptions().min_cosine,
        is_bound=is_bound,
    )


def is_wish_for_summary(context: AnswerContext) -> bool:
    """Whether "sum this up" means attached files, and not the conversation."""
    attached = context.attached
    if attached is None or attached.is_trial or not (attached.is_new or attached.was_subject):
        return False
    return read_file_question(context.question.text).kind == "overview"
