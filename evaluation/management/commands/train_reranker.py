"""`manage.py train_reranker --golden NAME … --out FILE`: weights of the linear reranker with their record."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.selectors import scope_for
from evaluation.models import GoldenSet
from evaluation.services.reranker_training import lists_collect, reranker_train
from ragcore.reranking.linear import FEATURES, LinearReranker
from ragcore.training.reranker_fitting import RankedList


class Command(BaseCommand):
    help = "Train the linear reranker on golden cases whose documents are live in this installation."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--golden", nargs="+", required=True)
        parser.add_argument("--within", nargs="*", default=[], help="golden sets of which only one title competes")
        parser.add_argument("--user", default="admin")
        parser.add_argument("--limit", type=int, help="questions per golden set")
        parser.add_argument("--out", type=Path, required=True)

    def handle(
        self, *, golden: list[str], within: list[str], user: str, limit: int | None, out: Path, **options: Any
    ) -> None:
        scope = scope_for(User.objects.get(username=user))
        lists: list[RankedList] = []
        for name in (*golden, *within):
            found = GoldenSet.objects.filter(tenant_id=scope.tenant_id, name=name).first()
            if found is None:
                raise CommandError(f"There is no golden set {name!r}.")
            fresh = list(lists_collect(scope=scope, golden=found, limit=limit, within=name in within))
            self.stdout.write(f"{name}: {len(fresh)} questions")
            lists += fresh
        trained = reranker_train(lists)
        for name, (before, after) in trained.held_out.items():
            self.stdout.write(f"{name}: nDCG@10 among the candidates, fused {before:.4f}, reranked {after:.4f}")
        record = {
            "features": list(FEATURES),
            "weights": [round(weight, 5) for weight in trained.weights],
            "cliff": LinearReranker(weights=()).cliff,
            "trained": {
                "at": datetime.now(UTC).date().isoformat(),
                "command": " ".join(
                    ["manage.py train_reranker --golden", *golden, *(["--within", *within] if within else [])]
                ),
                "questions": trained.questions,
                "cross_validated_ndcg10": {
                    name: {"fused": round(before, 4), "reranked": round(after, 4)}
                    for name, (before, after) in trained.held_out.items()
                },
            },
        }
        out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        self.stdout.write(f"written to {out}")
