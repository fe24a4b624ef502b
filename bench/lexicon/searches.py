"""Searches with and without a published lexicon: as asked, abbreviated, misspelt, and in the other language."""

from __future__ import annotations

import json
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.core.management import call_command

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.lexicon.documents import glossary_rows
from bench.retrieval import work_off
from evaluation.services.golden import benchmark_load
from knowledge import model_registry
from knowledge.models import LexiconTerm
from knowledge.queue import lexicon_version_subject
from knowledge.services import indexes_refresh, retrieve
from knowledge.services.lexicon import lexicon_publish, mining_start, terms_decide
from knowledge.services.lexicon.mining import MinedLexicon, suggestions_store
from knowledge.types import RetrievalRequest
from ragcore.metrics.bootstrap import mean_interval, paired_interval
from ragcore.metrics.quality import ndcg_at_k, recall_at_k
from ragcore.text.lexicon import LexiconEntry, LexiconTokenizer, TermLexicon
from ragcore.text.mining.candidates import mine_terms
from ragcore.text.tokenise import stop_words
from work.models import Job
from work.runner import slice_run

SURE_PAIRS, SURE_PHRASES = 0.85, 0.8  # scores that are approved without a reviewer
TERMS = 20_000
ROUNDS = 9
MOST_RELEVANT = 8  # passages with a name, of a question in the other language
LEAST_CROSS = 10  # questions
SEED = 5

Asked = tuple[str, frozenset[str]]


def measure_sets(folders: Sequence[Path], *, limit: int, texts: Sequence[str]) -> dict[str, Any]:
    """Figures of each set by its name."""
    call_command("bootstrap", "--demo", "0", verbosity=0)
    admin = User.objects.get(username="admin")
    scope = scope_for(admin)
    done: dict[str, Any] = {}
    for folder in folders:
        name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
        golden, accepted = benchmark_load(scope=scope, actor=admin, folder=folder, name=name)
        work_off(accepted.job_id)
        indexes_refresh()
        set_id = golden.sets.get().pk
        cases = [(case.question, frozenset(case.relevant)) for case in golden.cases.order_by("pk")[:limit]]
        bench = _Set(scope=scope, admin=admin, set_id=set_id, name=name, folder=folder)
        done[name] = bench.measure(cases, texts)
        _note(f"{name}: {json.dumps(done[name], ensure_ascii=False)}")
    return done


class _Set:
    """One retrieval set."""

    def __init__(self, *, scope: Scope, admin: User, set_id: int, name: str, folder: Path) -> None:
        self.scope, self.admin, self.set_id, self.name, self.folder = scope, admin, set_id, name, folder
        lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        self.passages = {
            f"{name}/{row['id']}": f"{row.get('title') or ''}\n{row['text']}" for row in map(json.loads, lines)
        }

    def measure(self, cases: Sequence[Asked], texts: Sequence[str]) -> dict[str, Any]:
        """All figures; the lexicon is published in between."""
        self._suggest(texts)
        pairs = self._names()
        variants = {"abbreviated": _abbreviated(cases, pairs), "misspelt": _misspelt(cases)}
        cross = self._cross()
        before = {
            "asked": self._ndcg(cases),
            "cross": self._recall(cross),
            **{name: self._ndcg(changed, fuzzy=False) for name, (_old, changed) in variants.items()},
        }
        originals = {name: self._ndcg(old) for name, (old, _changed) in variants.items()}
        version = self._publish()
        after = self._ndcg(cases)
        figures: dict[str, Any] = {
            "terms": len(version["entries"]),
            "passages_changed": version["passages"],
            "publish_seconds": version["seconds"],
            "ndcg10_before": _mean(before["asked"]),
            "ndcg10_after": _mean(after),
            "ndcg10_gain": paired_interval(after, before["asked"]).text(signed=True),
        }
        for name, (_old, changed) in variants.items():
            figures[name] = _recovered(originals[name], before[name], self._ndcg(changed))
        if len(cross) >= LEAST_CROSS:
            figures["cross_language"] = {
                "questions": len(cross),
                "recall10_before": _mean(before["cross"]),
                "recall10_after": _mean(self._recall(cross)),
            }
        figures["tokeniser_20000_terms"] = self._tokeniser()
        return figures

    # ── the lexicon ─────────────────────────────────────────────────────────────────────────────

    def _suggest(self, texts: Sequence[str]) -> None:
        """Suggestions of the set's own documents, of the files, and of the glossary in two languages."""
        run = mining_start(scope=self.scope, actor=self.admin, set_id=self.set_id)
        slice_run(job_id=run.pk)
        lexicon = MinedLexicon(tenant_id=run.tenant_id, set_id=self.set_id, author=self.admin)
        glossary = "# 术语 Glossary\n\n| 中文 | English |\n| --- | --- |\n"
        glossary += "".join(f"| {chinese} | {english} |\n" for chinese, english in glossary_rows())
        for text in (*texts, glossary):
            suggestions_store(lexicon, mine_terms([text], model_registry.tokenizer()))
        rows = LexiconTerm.objects.filter(knowledge_set_id=self.set_id, status="candidate")
        sure = [
            term.pk
            for term in rows
            if (term.score or 0) >= (SURE_PAIRS if term.long_form or term.translations else SURE_PHRASES)
        ]
        terms_decide(scope=self.scope, actor=self.admin, term_ids=sure, status="approved")

    def _names(self) -> list[tuple[str, str]]:
        """Long forms with their only abbreviation."""
        rows = LexiconTerm.objects.filter(knowledge_set_id=self.set_id, status="approved").exclude(long_form="")
        shorts: dict[str, set[str]] = {}
        for short, long_form in rows.values_list("text", "long_form"):
            shorts.setdefault(long_form, set()).add(short)
        found = [(long_form, next(iter(short))) for long_form, short in shorts.items() if len(short) == 1]
        return sorted(found, key=lambda pair: -len(pair[0]))

    def _publish(self) -> dict[str, Any]:
        start = time.perf_counter()
        version = lexicon_publish(scope=self.scope, actor=self.admin, set_id=self.set_id)
        build = Job.objects.get(subject=lexicon_version_subject(version.pk))
        while slice_run(job_id=build.pk):
            pass
        version.refresh_from_db()
        return {
            "entries": version.entries,
            "passages": version.passages,
            "seconds": round(time.perf_counter() - start, 1),
        }

    # ── questions in the other language ─────────────────────────────────────────────────────────

    def _cross(self) -> list[Asked]:
        """Chinese questions about names that few English passages have; those passages are right."""
        asked = []
        for chinese, english in glossary_rows():
            has = re.compile(rf"\b{re.escape(english)}s?\b", re.I)
            right = [name for name, text in self.passages.items() if has.search(text)]
            if 1 <= len(right) <= MOST_RELEVANT and not any(chinese in text for text in self.passages.values()):
                asked.append((f"{chinese}是怎么工作的？", frozenset(right)))
        return asked

    # ── figures ─────────────────────────────────────────────────────────────────────────────────

    def _ndcg(self, asked: Sequence[Asked], **options: Any) -> list[float]:
        return [ndcg_at_k(self._found(question, options), right, 10) for question, right in asked]

    def _recall(self, asked: Sequence[Asked]) -> list[float]:
        return [recall_at_k(self._found(question, {}), right, 10) for question, right in asked]

    def _found(self, question: str, options: dict[str, Any]) -> list[str]:
        request = RetrievalRequest(query=question, sets=(self.set_id,), top_k=10, options=options)
        state = retrieve(scope=self.scope, request=request).state
        names = [c.passage.external_id for c in state.candidates if c.passage is not None]
        return list(dict.fromkeys(names))

    def _tokeniser(self) -> dict[str, float]:
        """Seconds of the tokenizer with 20,000 terms by those without, in pairs of rounds that change their order.

        The terms are those of the set, and others that were made of its words.
        """
        base = model_registry.tokenizer()
        texts = list(self.passages.values())[:400]
        words = sorted({word for text in texts for word in base.words(text) if word not in stop_words()})
        joint = "" if sum(not word.isascii() for word in words) * 2 > len(words) else " "
        numbers = random.Random(SEED)  # noqa: S311 # nosec B311 - a bench
        rows = LexiconTerm.objects.filter(knowledge_set_id=self.set_id, status="approved")
        real = list(dict.fromkeys(name for row in rows.values_list("text", "long_form") for name in row if name))
        made = [joint.join(numbers.choices(words, k=2 + at % 3)) for at in range(2 * TERMS)]
        names = list(dict.fromkeys([*real, *made]))[:TERMS]
        lexicon = TermLexicon.of((LexiconEntry(text=name) for name in names), base)
        rich = LexiconTokenizer(base, lexicon)
        ratios = []
        for turn in range(ROUNDS):
            fresh = [f"{text} {turn}" for text in texts]  # nothing of the last round is in a cache
            sides = [(base.terms, [f"{text}a" for text in fresh]), (rich.terms, [f"{text}b" for text in fresh])]
            seconds = {at: _seconds(*sides[at]) for at in ((0, 1) if turn % 2 else (1, 0))}
            ratios.append(seconds[1] / seconds[0])
        return {"terms": len(names), "ratio": round(statistics.median(ratios), 3)}


def _seconds(act: Callable[[str], Any], texts: Sequence[str]) -> float:
    start = time.process_time()
    for text in texts:
        act(text)
    return time.process_time() - start


def _abbreviated(cases: Sequence[Asked], pairs: Sequence[tuple[str, str]]) -> tuple[list[Asked], list[Asked]]:
    """Questions with a long form of the lexicon, and the same ones with its abbreviation."""
    old, changed = [], []
    for question, right in cases:
        for long_form, short in pairs:
            found = re.sub(rf"\b{re.escape(long_form)}\b", short, question, flags=re.I)
            if found != question:
                old.append((question, right))
                changed.append((found, right))
                break
    return old, changed


def _misspelt(cases: Sequence[Asked]) -> tuple[list[Asked], list[Asked]]:
    """Questions with a slip of the hand in their longest word of six and more letters."""
    numbers = random.Random(SEED)  # noqa: S311 # nosec B311 - a bench
    old, changed = [], []
    for question, right in cases:
        words = [w for w in re.findall(r"[A-Za-z]{6,}", question) if w.lower() not in stop_words() and not w.isupper()]
        if not words:
            continue
        word = max(words, key=len)
        at = numbers.randrange(2, len(word) - 1)
        slips = (word[:at] + word[at + 1 :], word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :])
        slip = next((one for one in slips if one != word), word)
        old.append((question, right))
        changed.append((question.replace(word, slip), right))
    return old, changed


def _recovered(original: Sequence[float], without: Sequence[float], with_it: Sequence[float]) -> dict[str, Any]:
    if not original:
        return {"questions": 0}
    lost = statistics.mean(original) - statistics.mean(without)
    won = statistics.mean(with_it) - statistics.mean(without)
    return {
        "questions": len(original),
        "ndcg10_original": _mean(original),
        "ndcg10_without": _mean(without),
        "ndcg10_with": _mean(with_it),
        "recovered": round(won / lost, 3) if lost > 0.002 else None,
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(mean_interval(values).value, 4) if values else None


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
