"""The admin in Chinese: no page mixes the languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.contrib.admin import site
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import User
from knowledge.models import DuplicatePair, IngestItem, IngestJob, KnowledgeSet, SourceHandler
from knowledge.services.edits import chunk_replace
from knowledge.services.handlers import attributes_seed, handlers_seed
from knowledge.services.sources import source_create, source_run_start
from ragcore.errors import CorruptDocumentError
from tests.admin.conftest import make_document
from tests.factories import ingest, make_admin, make_set, scope_of
from tests.knowledge.sources.building import sync_run

WORD = re.compile(r"[A-Za-z]?[a-z]{2,}")
HAN = re.compile(r"[\u3400-\u9fff]")
NAMES = {"Ragsite", "English", "en", "zh-hans", "esc", "Webhook", "nDCG@10"} | {
    "OpenDocument",
    "Markdown",
    "Word",
    "PowerPoint",
    "Excel",
}  # the same in every language
DATA = {"default", "uploads", "embedded-minilm-ngrams-1", "report", "corrupt_document"}  # values, for all readers
READ_ALOUD = ("title", "aria-label", "placeholder", "alt", "data-label")
NOT_WORDS = "script, style, code, pre, template, svg, noscript, [class*=material-symbols]"
TEXT = "# 安全阀\n\n安全阀在七巴时开启。弹簧把阀瓣压在阀座上。\n\n| 型号 | 压力 |\n|---|---|\n| 甲 | 七 |\n"


@pytest.fixture(autouse=True)
def _language_of_the_thread() -> Iterator[None]:
    """The language of the last answer would stay for the tests that follow."""
    with translation.override("en"):
        yield


@pytest.fixture
def administrator(db: None) -> User:
    return make_admin("管理员")


@pytest.fixture
def chinese(administrator: User) -> Client:
    client = Client(headers={"accept-language": "zh-hans"})
    client.force_login(administrator)
    return client


@pytest.fixture
def own_set(administrator: User) -> KnowledgeSet:
    return make_set("k1", name="规范", owners=[administrator])


@pytest.fixture
def pages(administrator: User, own_set: KnowledgeSet, settings: Any, tmp_path: Path) -> dict[str, str]:
    """Addresses of pages that have something to show: documents, a run that refused a file, a failure, a pair."""
    scope, tenant = scope_of(administrator), own_set.tenant
    attributes_seed(tenant=tenant)
    handlers_seed(tenant=tenant)
    first, second = ingest(administrator, own_set, 甲=TEXT, 乙=TEXT + "\n每年检查一次。\n").values()
    chunk = first.live_version.chunks.first()
    chunk_replace(scope=scope, actor=administrator, chunk_id=chunk.pk, text="新的文字。")
    pair = DuplicatePair.objects.create(tenant=tenant, first=first, second=second, kind="near", similarity=0.9)
    broken = make_document("坏", own_set, state="failed", error_message=CorruptDocumentError.default_message)
    job = IngestJob.objects.create(tenant=tenant, created_by=administrator)
    item = {"stage": "failed", "error_code": "corrupt_document", "error_message": broken.error_message}
    IngestItem.objects.create(job=job, version=broken.versions.get(), finished=timezone.now(), **item)
    settings.SOURCE_FOLDERS = (str(tmp_path),)
    run = run_of_a_folder(administrator, tmp_path)
    values = {"name": "网页", "kind": "webhook", "credentials": {"secret": "s" * 16}}
    source = source_create(scope=scope, actor=administrator, values=values)
    handler = SourceHandler.objects.get(code="support")
    SourceHandler.objects.filter(pk=handler.pk).update(description="")  # data of the tenant
    return {
        "passages": f"document/{first.pk}/change/",
        "about": f"document/{first.pk}/change/?view=about",
        "versions": f"document/{first.pk}/change/?view=versions",
        "move": f"document/transfer/move/?ids={first.pk}",
        "delete": f"document/{first.pk}/delete/",
        "failed": f"document/{broken.pk}/change/",
        "edit": f"document/{first.pk}/edit/",
        "documents": "document/?hands=all",
        "upload": "document/upload/",
        "pair": f"duplicatepair/{pair.pk}/change/",
        "pairs": "duplicatepair/",
        "ingestion": "ingestitem/?progress=all",
        "job": f"ingestjob/{job.pk}/change/",
        "run": f"ingestjob/{run.pk}/change/",
        "set": f"knowledgeset/{own_set.pk}/change/",
        "options": f"knowledgeset/{own_set.pk}/options/",
        "chunking": f"knowledgeset/{own_set.pk}/chunking/?chunking.max_tokens=100",
        "setup": "knowledgeset/setup/",
        "site": "knowledgeset/site-options/",
        "source": f"source/{source.pk}/change/",
        "compose": f"source/compose/{own_set.pk}/",
        "handler": f"sourcehandler/{handler.pk}/change/",
    }


def run_of_a_folder(administrator: User, folder: Path) -> IngestJob:
    """A run with a document, and with a file that it could not take."""
    (folder / "一.md").write_text(TEXT)
    (folder / "空.md").write_text("")
    values = {"name": "书架", "kind": "folder", "location": str(folder)}
    scope = scope_of(administrator)
    source = source_create(scope=scope, actor=administrator, values=values)
    return sync_run(job_id=source_run_start(scope=scope, actor=administrator, source_id=source.pk).pk)


def english_in(content: bytes) -> set[str]:
    """Texts and labels of a page that hold Latin words and nothing Chinese."""
    page = BeautifulSoup(content, "lxml")
    for found in page.select(NOT_WORDS):
        found.decompose()
    labels = [str(tag[name]) for name in READ_ALOUD for tag in page.select(f"[{name}]")]
    texts = {" ".join(text.split()) for text in [*page.stripped_strings, *labels]}
    return {text for text in texts if WORD.search(text) and not HAN.search(text)} - NAMES - DATA


def models() -> list[str]:
    return sorted(
        f"{model._meta.app_label}_{model._meta.model_name}"
        for model in site._registry
        if model._meta.app_label != "auth"
    )


@pytest.mark.parametrize("model", models())
@pytest.mark.parametrize("page", ["changelist", "add"])
def test_lists_and_forms_are_in_one_language(chinese, own_set, model, page):
    answer = chinese.get(reverse(f"admin:{model}_{page}"))

    assert answer.status_code in (200, 403)  # some rows nobody adds by hand, and the refusal is a page too
    assert english_in(answer.content) == set()


def test_pages_with_something_on_them_are_in_one_language(chinese, pages):
    answers = {name: chinese.get(f"/admin/knowledge/{address}") for name, address in pages.items()}
    found = {name: english_in(answer.content) for name, answer in answers.items()}

    assert {name: answer.status_code for name, answer in answers.items() if answer.status_code != 200} == {}
    assert {name: words for name, words in found.items() if words} == {}


def test_a_text_in_english_would_be_noticed():
    assert english_in(b"<p>Not <b>in</b> Chinese</p><i title='Such'>\xe4\xb8\xad\xe6\x96\x87</i>") == {
        "Not",
        "in",
        "Chinese",
        "Such",
    }
