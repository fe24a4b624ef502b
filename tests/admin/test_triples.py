import csv
import io
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge.graph_exports import fact_lines
from knowledge.graph_picture import HEIGHT, MOST_NODES, WIDTH, picture_of
from knowledge.models import Triple, TripleImport
from knowledge.services.triples import triples_import
from ragcore.graph.files import LineFault, bounded_lines, read_triples
from ragcore.text.csv_rows import unescaped_cell
from tests.factories import make_admin, make_set, make_user, scope_of
from tests.forms_plugin import examples
from tests.knowledge.imports import import_read

pytestmark = pytest.mark.django_db
LIST, IMPORT, GRAPH, TRY = (f"/admin/knowledge/triple/{page}" for page in ("", "import/", "graph/", "try/"))
EXPORT = "/admin/knowledge/triple/export/"
FACTS = (
    ("AMF", "part of", "5G Core"),
    ("AMF", "interface", "N2"),
    ("N2", "connects", "gNB"),
    ("=cmd()", "is", "formula"),
)


@pytest.fixture
def owner():
    return make_user(is_staff=True)


@pytest.fixture
def shelf(owner):
    into = make_set(owners=[owner], visibility="members")
    lines = [json.dumps({"subject": s, "relation": r, "object": o}).encode() for s, r, o in FACTS]
    triples_import(scope=scope_of(owner), actor=owner, lines=lines, form="jsonl", set_id=into.pk, name="facts.jsonl")
    return into


def page(client, user, address, **data):
    client.force_login(user)
    response = client.get(address, data)
    assert response.status_code == 200, response.status_code
    content = b"".join(response.streaming_content) if response.streaming else response.content
    return content.decode()


def test_a_file_is_imported_by_page_with_its_faults(client, owner, shelf):
    client.force_login(owner)
    file = SimpleUploadedFile("more.csv", b"subject,relation,object\nSMF,part of,5G Core\nbroken\n")
    sent = client.post(IMPORT, {"knowledge_set": shelf.pk, "file": file})
    assert sent.status_code == 302
    made = TripleImport.objects.get(name="more.csv")

    import_read(made)

    shown = page(client, owner, IMPORT)
    assert "more.csv" in shown
    assert "Line 3:" in shown
    assert client.post(f"{IMPORT}{made.pk}/delete/").status_code == 302
    assert not Triple.objects.filter(subject="SMF").exists()


def test_a_file_of_another_kind_and_a_set_of_others_are_refused(client, owner, shelf):
    client.force_login(owner)
    foreign = make_set(owners=[make_user()])
    for into, name in ((shelf, "a.pdf"), (foreign, "a.csv")):
        sent = client.post(IMPORT, {"knowledge_set": into.pk, "file": SimpleUploadedFile(name, b"a,b,c")})
        assert sent.status_code == 400
    assert TripleImport.objects.count() == 1


def test_the_table_is_searched_by_words_and_triples_are_deleted(client, owner, shelf):
    assert "5G Core" in page(client, owner, LIST)
    assert "gNB" not in page(client, owner, LIST, q="core")

    one = Triple.objects.get(object="5G Core")
    client.post(LIST, {"action": "remove_selected", "_selected_action": [one.pk]})
    assert not Triple.objects.filter(pk=one.pk).exists()


def test_a_question_is_tried_with_scores_and_chain(client, owner, shelf):
    shown = page(client, owner, TRY, q="What is AMF part of?")

    assert "<strong>5G Core</strong>" in shown
    assert "Reason 1" in shown
    assert "valid" in page(client, owner, TRY, q="x", n="0")
    assert "No triple answers" in page(client, make_admin(), TRY, q="What is AMF part of?", set=str(make_set().pk))


def test_the_graph_is_a_picture_with_a_table_beside_it(client, owner, shelf):
    shown = page(client, owner, GRAPH, name="N2", set=str(shelf.pk))

    assert shown.count("<circle") >= 3
    assert "connects" in shown
    assert "No triples found" in page(client, owner, GRAPH, relation="nothing")
    assert "&lt;b&gt;" in page(client, owner, GRAPH, name="<b>")


def test_what_others_may_not_read_is_in_no_page(client, owner, shelf):
    other = make_user(is_staff=True)
    make_set(owners=[other])

    for address, data in ((LIST, {}), (GRAPH, {}), (TRY, {"q": "5G Core?"}), (EXPORT, {}), (IMPORT, {})):
        shown = page(client, other, address, **data)
        assert "AMF" not in shown
        assert "facts.jsonl" not in shown
    client.force_login(make_user())
    assert client.get(GRAPH).status_code in (302, 403)


def test_exports_are_read_by_other_programs(client, owner, shelf):
    rows = list(csv.DictReader(io.StringIO(page(client, owner, EXPORT))))
    graph = json.loads(page(client, owner, EXPORT, format="jsonld"))["@graph"]

    assert {row["subject"] for row in rows} == {"AMF", "N2", "'=cmd()"}
    assert len(graph) == len(FACTS)
    assert len(list(csv.DictReader(io.StringIO(page(client, owner, EXPORT, name="N2"))))) == 2


def test_a_picture_stays_in_its_area_and_is_the_same_each_time():
    facts = [(n, f"k{n % 400}", f"N{n}", "r", f"k{(n * 7) % 400}", "M") for n in range(900)]
    picture = picture_of(facts, centre="k1")

    assert picture == picture_of(facts, centre="k1")
    assert len(picture.nodes) == MOST_NODES
    assert all(0 <= node.x <= WIDTH and 0 <= node.y <= HEIGHT for node in picture.nodes)
    assert picture_of([]).nodes == ()
    assert len(picture_of([(1, "a", "A", "r", "a", "A")]).nodes) == 1


NAMES = st.text(min_size=1, max_size=40) | st.sampled_from(
    ["=1+1", "'=1", "''-2", " +x", "' @y", '"', ",", "a;b", "-5"]
)


@settings(max_examples=examples(10))
@given(st.lists(st.tuples(NAMES, NAMES, NAMES), max_size=5))
def test_an_export_as_csv_is_imported_as_the_same_triples(facts):
    lines = [json.dumps({"subject": s, "relation": r, "object": o}).encode() for s, r, o in facts]
    stored = [one.triple for one in read_triples(lines, "jsonl") if not isinstance(one, LineFault)]

    file = "".join(fact_lines((Triple(subject=t.subject, relation=t.relation, object=t.object) for t in stored), "csv"))
    again = list(read_triples(bounded_lines([file.encode()]), "csv", read_cell=unescaped_cell))

    assert [one.triple for one in again] == stored
