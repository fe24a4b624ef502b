"""Answers questions about the assistant itself: the readable sets and example questions."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.utils import translation
from redis.exceptions import RedisError

from accounts.scope import Scope
from chat.answering.examples import examples_checked
from knowledge.models import name_in_language
from knowledge.selectors import documents_askable, sets_readable
from ragcore.errors import RagError
from ragcore.types import Language

logger = logging.getLogger(__name__)

MOST_SETS = 8
MOST_EXAMPLES = 4
NAME = {"zh": "知识库助手", "en": "the knowledge assistant"}
WHAT = {
    "zh": "我是{name}。我根据知识库里的文档回答问题，每句话都注明出处；文档里没有的内容，我会直接说明没有找到。",
    "en": "I am {name}. I answer questions from the documents that are kept here and show the source of each sentence. "
    "What the documents do not say, I do not answer.",
}
SETS = {"zh": "**可以查询的内容**：", "en": "**You can ask about**: "}
MORE_SETS = {"zh": "，另有 {count} 个知识库", "en": " and {count} more sets"}
NO_SETS = {"zh": "目前没有可以查询的文档。", "en": "There are no documents yet that you can ask about."}
EXAMPLES = {"zh": "**例如**", "en": "**For example**"}
ADVICE = {
    "zh": "问题里写上产品、版本或编号，答案会更准确。在输入框旁可以选择知识库，也可以附上文件。",
    "en": "Name the product, the version or the number, and the answer becomes more exact. "
    "Beside the text field you can choose knowledge sets and attach files.",
}
_BETWEEN = {"zh": "、", "en": ", "}


def capabilities_text(*, scope: Scope, sets: Sequence[int], language: Language, name: str) -> str:
    """Markdown: who answers, the sets with documents, questions that have an answer, and how to ask.

    `sets`: those that the asker has chosen, () for all; `name`: of the assistant, "" for none of its own.
    """
    spoken = "zh" if language == "zh" else "en"
    with translation.override("zh-hans" if spoken == "zh" else "en"):
        names = _set_names(scope, sets)
        examples = _examples(scope, sets) if names else []
    parts = [WHAT[spoken].format(name=name or NAME[spoken])]
    if names:
        more = MORE_SETS[spoken].format(count=len(names) - MOST_SETS) if len(names) > MOST_SETS else ""
        parts.append(f"{SETS[spoken]}{_BETWEEN[spoken].join(names[:MOST_SETS])}{more}")
    else:
        parts.append(NO_SETS[spoken])
    if examples:
        parts.append("\n".join([EXAMPLES[spoken], "", *(f"- {question}" for question in examples)]))
    return "\n\n".join([*parts, ADVICE[spoken]])


def _set_names(scope: Scope, sets: Sequence[int]) -> list[str]:
    """Names of the sets in which the asker finds at least one document."""
    askable = documents_askable(scope=scope, sets=sets).order_by()
    readable = sets_readable(scope=scope).filter(pk__in=askable.values("sets"))
    chosen = readable.filter(pk__in=sets) if sets else readable
    return list(chosen.order_by("axis", "name").values_list(name_in_language(), flat=True))


def _examples(scope: Scope, sets: Sequence[int]) -> list[str]:
    """Questions with an answer; none where they could not be searched for."""
    try:
        return [example.question for example in examples_checked(scope=scope, sets=sets)][:MOST_EXAMPLES]
    except (RagError, RedisError) as error:
        logger.warning("no examples: %s", error)
        return []
