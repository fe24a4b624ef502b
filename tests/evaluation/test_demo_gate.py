"""The sample documents and their golden set: what a change of the product must not make worse."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from accounts.models import User
from evaluation.models import EvaluationRun, GoldenSet
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import golden_file_parse
from knowledge.demo import GOLDEN
from knowledge.models import Document, IngestJob, KnowledgeSet
from tests.factories import run_job

FLOORS = {"ndcg@10": 0.95, "recall@10": 0.97, "correctness": 0.75, "refusal_quality": 0.85, "citation_precision": 0.85}


@pytest.mark.django_db(transaction=True)
def test_the_sample_documents_answer_their_golden_set(capsys, settings):
    settings.EMBEDDER = ""  # as a new site is
    call_command("bootstrap", "--demo", "1", verbosity=0)
    for job_id in IngestJob.objects.values_list("pk", flat=True):
        run_job(job_id)
    admin = User.objects.get(username="admin")
    home = KnowledgeSet.objects.create(tenant=admin.tenant, code="every-sample", name="Every sample")
    home.documents.set(Document.objects.all())
    rows = golden_file_parse(name=GOLDEN.name, content=GOLDEN.read_bytes())
    golden = golden_import(tenant=admin.tenant, name="demo", rows=rows).golden_set
    golden.sets.set([home])
    GoldenSet.objects.update(floors=FLOORS)

    call_command("evaluate", code="every-sample", gate=True, answers=True)

    assert "The gate has passed." in capsys.readouterr().out
    assert EvaluationRun.objects.get().configurations.get().failed == 0
