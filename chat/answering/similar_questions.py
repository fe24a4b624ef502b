"""The semantic answer cache: answers to the same question in slightly other words.

Of the kept questions with equal rights, sets, options and models, those near enough by their vectors are compared by
rules (`ragcore.understanding.same_question`); only one that asks the same is used. Off unless the option says so.
"""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from redis.exceptions import RedisError

from chat import metrics
from chat.answering.cache import TTL_SECONDS, IsUsable, kept_answer
from chat.answering.cache_key import CacheKey
from chat.concurrency.executors import run_cpu
from chat.concurrency.redis_client import client
from chat.types import AnswerRecord
from knowledge import model_registry
from ragcore.text.matching import FloatArray
from ragcore.understanding.same_question import is_same_question, question_form

logger = logging.getLogger(__name__)

KEPT_QUESTIONS = 200  # of one group, the latest
# Least cosine of two questions, by the model. Paraphrases and near misses overlap by far, so it only spares
# comparisons; what is the same is decided by the rules.
FLOORS = {"embedded-minilm-ngrams-1": 0.75, "embedded-e5-ngrams-1": 0.75}
FLOOR = 0.9  # of other models


def least_cosine(model: str) -> float:
    """The least cosine for a model of vectors."""
    return FLOORS.get(model, FLOOR)


@dataclass(slots=True, kw_only=True)
class SimilarQuestions:
    """One question beside those that are kept. `question`: standalone, as it is written."""

    key: CacheKey
    question: str
    _vector: FloatArray | None = None

    async def answer(self, is_usable: IsUsable) -> AnswerRecord | None:
        """The answer to a kept question that asks the same in other words; None if there is none.

        Counts hits, misses, and as refused near questions that ask something else. A question that is kept itself is
        left to the exact cache, and one that cannot be compared is not looked up.
        """
        if question_form(self.question) is None:
            return None
        try:
            if await client().exists(self.key.name):
                return None
            lines = await client().lrange(self.key.similar_name, 0, KEPT_QUESTIONS - 1)
        except RedisError:
            logger.exception("similar questions cannot be read")
            return None
        near = _near(lines, await self.vector(), floor=least_cosine(model_registry.embedder().model)) if lines else []
        same = [text for text in near if is_same_question(self.question, text)]
        for other in same:
            if record := await kept_answer(self.key.of_question(other).name, is_usable=is_usable):
                metrics.CACHE.labels("semantic", "hit").inc()
                return record
        metrics.CACHE.labels("semantic", "refused" if near and not same else "miss").inc()
        return None

    async def remember(self) -> None:
        """Keep the question, whose answer is kept."""
        if question_form(self.question) is None:
            return
        code = base64.b64encode((await self.vector()).astype(np.float16).tobytes()).decode()
        pipe = client().pipeline(transaction=False)
        pipe.lpush(self.key.similar_name, json.dumps([self.question, code]))
        pipe.ltrim(self.key.similar_name, 0, KEPT_QUESTIONS - 1)
        pipe.expire(self.key.similar_name, TTL_SECONDS)
        try:
            await pipe.execute()
        except RedisError:
            logger.exception("a question could not be kept")

    async def vector(self) -> FloatArray:
        """float32[768], L2-normalised."""
        if self._vector is None:
            self._vector = await run_cpu(_embedded, self.question)
        return self._vector


def _embedded(question: str) -> FloatArray:
    vector: FloatArray = model_registry.embedder().embed_queries([question])[0]
    return vector


def _near(lines: Sequence[str | bytes], vector: FloatArray, *, floor: float) -> list[str]:
    """Questions near enough, the nearest first."""
    questions, codes = zip(*(json.loads(line) for line in lines), strict=True)
    rows = np.frombuffer(b"".join(base64.b64decode(code) for code in codes), dtype=np.float16)
    cosines = rows.reshape(len(lines), -1).astype(np.float32) @ vector
    return [questions[at] for at in np.argsort(-cosines) if cosines[at] >= floor]
