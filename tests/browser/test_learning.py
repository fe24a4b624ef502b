"""What the system learns, walked through in a real browser: lexicon, query vectors, models, weights.

Each part is started in the administration, followed to its end by the real worker, switched on and taken back. The
short form walks in English; the long form walks in Chinese, too. Both take the pictures of docs/tuning.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.selectors import scope_for
from evaluation.models import GoldenSet
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from knowledge import model_registry
from knowledge.models import (
    Document,
    KnowledgeSet,
    LexiconTerm,
    LexiconVersion,
    QueryAdapter,
    SearchModel,
    SetEmbedder,
    SourcePlace,
)
from knowledge.services import document_upload
from ragcore.embedding import query_adapter
from ragsite.embedded.processes import wait_until
from tests.browser.conftest import INGEST_SECONDS
from tests.browser.test_loop import LANGUAGES, words_of
from tests.factories import make_set
from tests.scripted_llm import Recorded, Reply
from work.models import Job

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("radio"),  # before the browser, whose event loop keeps this thread from the database
]

TERMS = """term,language,kind,long_form,synonyms,translations,status
CA,en,abbreviation,carrier aggregation,channel bonding,载波聚合,approved
波束管理,zh,term,,波束控制,beam management,approved
DRX,en,abbreviation,discontinuous reception,,,approved
"""
THINGS = {
    "carrier aggregation (CA)": "joins several carriers to one wider channel",
    "discontinuous reception (DRX)": "lets the receiver of a terminal sleep",
    "beam management (波束管理)": "keeps narrow beams aligned while the terminal moves",
    "link adaptation (LA)": "chooses modulation and coding by the quality of the channel",
    "random access (RA)": "gives a terminal its first resources in a cell",
    "power control (PC)": "keeps the received power of all terminals alike",
    "cell reselection (CR)": "moves an idle terminal to a better cell",
    "load balancing (LB)": "moves terminals from a full cell to an empty one",
    "network slicing (NS)": "keeps the resources of several customers apart",
    "timing advance (TA)": "lets signals of far terminals arrive in time",
    "channel sounding (CS)": "measures the channel with known signals",
    "paging (PG)": "finds a terminal that sleeps",
}
DONE_MS = 120_000
DONE_SECONDS = 120


def vectors_of_words(asked: Recorded) -> Reply:
    """An embedding server whose vectors count words; anything else gets the usual answer."""
    if not asked.path.endswith("/embeddings"):
        return Reply()
    return Reply(vectors=tuple(_counted(text) for text in asked.body["input"]))


def _counted(text: str) -> tuple[float, ...]:
    row = np.full(384, 0.01)
    for word in re.findall(r"\w+", text.lower()):
        row[crc32(word.encode()) % 384] += 1.0
    return tuple(row.tolist())


@pytest.fixture(scope="module")
def radio(live_site: Any, beside: Any) -> Iterator[int]:
    """A set with a golden set that names its documents, and a server of embeddings; returns the set's id."""

    def made() -> int:
        admin = User.objects.get(username=live_site.admin)
        home = make_set("radio", name="Radio access", owners=[admin])
        for name, what in THINGS.items():
            text = f"# {name}\n\nIn a radio network {name} {what}. The operator sets {name} for each site.\n"
            document_upload(
                scope=scope_for(admin), actor=admin, sets=[home.pk], name=f"{name[:8]}.md", content=text.encode()
            )
        live = lambda: not Document.objects.filter(sets=home).exclude(state=Document.State.LIVE).exists()  # noqa: E731
        assert wait_until(live, seconds=INGEST_SECONDS)
        rows = [
            GoldenRow(question=question.format(name=name, what=what), relevant=(f"#{document}",))
            for document, (name, what) in zip(_documents(home), THINGS.items(), strict=True)
            for question in ("What is it that {what}?", "Please tell me about {name}", "Which function {what}?")
        ]
        golden = golden_import(tenant=admin.tenant, name="Radio questions", rows=rows, actor=admin).golden_set
        golden.sets.set([home])
        GoldenSet.objects.filter(pk=golden.pk).update(guards=False)  # what a gate does is walked in test_loop
        SourcePlace.objects.create(tenant=admin.tenant, kind="host", location="127.0.0.1")
        return home.pk

    home_id: int = beside(made)
    live_site.llm.respond = vectors_of_words
    yield home_id
    live_site.llm.respond = None


def _documents(home: KnowledgeSet) -> list[int]:
    return list(Document.objects.filter(sets=home).order_by("pk").values_list("pk", flat=True))


class Walk:
    """One person's way through the pages of a set, in one language."""

    def __init__(self, page: Page, url: str, home: int, beside: Any, picture: Any, locale: str) -> None:
        self.page, self.url, self.home, self.beside, self.picture = page, url, home, beside, picture
        self.say = words_of(LANGUAGES[locale])
        self.ending = "" if locale == "en-GB" else "-zh"

    def goes(self, address: str) -> None:
        self.page.goto(f"{self.url}/admin/{address}")

    def presses(self, words: str, **values: Any) -> None:
        self.page.get_by_role("button", name=self.say(words) % values if values else self.say(words)).first.click()

    def sees(self, words: str, **values: Any) -> None:
        said = self.say(words) % values if values else self.say(words)
        expect(self.page.locator("#content")).to_contain_text(said, timeout=DONE_MS)

    def waits(self, is_so: Callable[[], bool]) -> None:
        """Until the worker has done something that the page shows when it is opened again."""
        assert self.beside(lambda: wait_until(is_so, seconds=DONE_SECONDS))
        self.page.reload()

    def pictured(self, name: str) -> None:
        self.page.evaluate("scrollTo(0, 0)")
        self.picture(self.page, f"{name}{self.ending}.png", colours=64)


def test_an_owner_lets_the_system_learn(open_page: Any, live_site: Any, radio: int, beside: Any, picture: Any) -> None:
    _walked(open_page, live_site, radio, beside, picture, "en-GB")


@pytest.mark.full
def test_the_same_in_chinese(open_page: Any, live_site: Any, radio: int, beside: Any, picture: Any) -> None:
    beside(lambda: [rows.objects.all().delete() for rows in (LexiconTerm, SetEmbedder, SearchModel)])
    _walked(open_page, live_site, radio, beside, picture, "zh-CN")


def _walked(open_page: Any, live_site: Any, home: int, beside: Any, picture: Any, locale: str) -> None:
    page = open_page(locale=locale, width=1280, height=900)
    walk = Walk(page, live_site.url, home, beside, picture, locale)
    lexicon(walk)
    terms_from_documents(walk)
    query_vectors(walk)
    model_training(walk)
    model_of_the_set(walk, live_site.llm.url)
    reranker_weights(walk)


def lexicon(walk: Walk) -> None:
    """A list of terms is imported and published, and both are taken back."""
    page, asked = walk.page, f"knowledge/lexiconterm/import/?set={walk.home}"
    walk.goes(asked)
    file = {"name": "terms.csv", "mimeType": "text/csv", "buffer": TERMS.encode()}
    page.locator("input[name=file]").set_input_files(file)
    walk.presses("Import")
    walk.sees("%(added)s added, %(changed)s changed, %(same)s unchanged.", added=3, changed=0, same=0)

    walk.goes(f"knowledge/lexiconterm/?set={walk.home}")
    page.locator("form[action$='/publish/'] button").click()
    walk.waits(lambda: LexiconVersion.objects.filter(state="live").exists())
    number = walk.beside(lambda: LexiconVersion.objects.get(state="live").number)
    walk.sees("Version %(number)s is in use.", number=number)
    walk.pictured("lexicon")

    walk.goes(f"knowledge/lexiconterm/history/?set={walk.home}")
    walk.pictured("lexicon-history")
    page.locator("form[action$='/undo/'] button").first.click()
    walk.goes(f"knowledge/lexiconterm/history/?set={walk.home}")
    walk.sees("was undone")
    assert walk.beside(lambda: LexiconTerm.objects.filter(status="approved").count()) == 0


def terms_from_documents(walk: Walk) -> None:
    """The documents are searched for terms; one is approved by its key, and that is taken back by another."""
    page = walk.page
    walk.goes(f"knowledge/lexiconterm/?set={walk.home}")
    walk.presses("Search documents for terms")
    walk.waits(lambda: not Job.objects.exclude(state="done").exists())
    walk.goes(f"knowledge/lexiconterm/review/?set={walk.home}")
    rows = page.locator("[data-term]")
    expect(rows.first).to_be_visible()
    walk.pictured("lexicon-suggestions")
    count = rows.count()
    rows.first.focus()
    page.keyboard.press("a")
    expect(rows).to_have_count(count - 1)
    page.keyboard.press("u")
    expect(rows).to_have_count(count)
    assert walk.beside(lambda: LexiconTerm.objects.filter(status="approved").count()) == 0


def query_vectors(walk: Walk) -> None:
    """A training runs to its end, another one is cancelled; a version is switched on and off."""
    page = walk.page
    walk.goes(f"evaluation/goldencase/query-vectors/set/?set={walk.home}")
    walk.presses("Start training")
    ended = re.compile(
        "|".join(re.escape(walk.say(words)) for words in ("Better, not in use", "No gain, nothing changed"))
    )
    expect(page.locator(".rs-tag").first).to_have_text(ended, timeout=DONE_MS)
    walk.pictured("query-vectors")
    walk.presses("Start training")
    walk.presses("Cancel")
    walk.sees("Cancelled")

    walk.beside(lambda: _usable_version(walk.home))
    page.reload()
    walk.presses("Switch on")
    walk.presses("Restore original vectors")
    walk.sees("Questions use the original vectors.")
    expect(page.get_by_role("button", name=walk.say("Switch on again")).first).to_be_visible()


def model_training(walk: Walk) -> None:
    """From the page of query vectors to that of trained models; one is prepared, and given up while it is."""
    walk.page.get_by_role("link", name=walk.say("Train an embedding model")).click()
    walk.presses("Prepare")
    walk.presses("Cancel")
    walk.sees("Cancelled")
    expect(walk.page.get_by_role("button", name=walk.say("Prepare"))).to_be_visible()


def _usable_version(home: int) -> None:
    """A version that found more, as one with months of questions would be: here twelve documents are too few."""
    row = KnowledgeSet.objects.get(pk=home)
    embedder = model_registry.embedder()
    weights = query_adapter.QueryAdapter(
        down=np.zeros((768, 1), np.float32),
        up=np.zeros((1, 768), np.float32),
        shift=embedder.embed_documents(["radio network"])[0],
    ).pack()
    number = (
        1 + (QueryAdapter.objects.filter(knowledge_set=row).order_by("-number").values_list("number", flat=True)[0])
    )
    QueryAdapter.objects.create(
        tenant_id=row.tenant_id, knowledge_set=row, number=number, state="ready", model=embedder.model, weights=weights
    )


def model_of_the_set(walk: Walk, server: str) -> None:
    """An embedding server is registered and tested, given to the set, switched on, off and on again."""
    page = walk.page
    walk.goes("knowledge/searchmodel/add/")
    page.locator("#id_provider").select_option("server")
    page.locator("#id_name").fill("trade-model")
    page.locator("#id_url").fill(server)
    page.locator("button[name=_continue]").first.click()
    walk.presses("Test")
    expect(page.locator("main li", has_text=re.compile(r"\b384\b")).first).to_be_visible(timeout=DONE_MS)

    walk.goes(f"evaluation/goldencase/set-models/set/?set={walk.home}")
    walk.presses("Compute vectors")
    expect(page.get_by_role("button", name=walk.say("Switch on"))).to_be_visible(timeout=DONE_MS)
    walk.pictured("set-model")
    walk.presses("Switch on")
    walk.presses("Back to the site's model")
    walk.sees("Only the site's model is used.")
    walk.presses("Switch on again")
    expect(page.get_by_role("button", name=walk.say("Back to the site's model"))).to_be_visible()
    walk.presses("Back to the site's model")
    walk.presses("Delete the vectors")


def reranker_weights(walk: Walk) -> None:
    """A fit of the reranker's weights runs to its end."""
    page = walk.page
    walk.goes("evaluation/goldencase/reranker/")
    walk.presses("Start training")
    expect(page.locator("#reranker-live[data-open='0'] .rs-tag").first).to_be_visible(timeout=DONE_MS)
    walk.pictured("reranker-weights")
