"""The pages of files and of suggestions: what they say of faulty lines, and how many suggestions wait."""

from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from knowledge.models import LexiconChange
from knowledge.services.lexicon import term_save
from tests.admin.conftest import signed_in
from tests.factories import scope_of

IMPORT = reverse("admin:knowledge_lexiconterm_import")
REVIEW = reverse("admin:knowledge_lexiconterm_review")
DECIDE = reverse("admin:knowledge_lexiconterm_decide")
SCRIPT = {"HTTP_ACCEPT": "application/json"}
CHINESE = {"HTTP_ACCEPT_LANGUAGE": "zh-CN"}


def send(client, home, content, **more):
    file = SimpleUploadedFile("terms of 2024.csv", content.encode())
    return client.post(IMPORT, {"file": file, "approve": "on", "set": home.pk}, **more).content.decode()


def test_the_page_says_how_many_faulty_lines_it_leaves_out(owner, own_set):
    client = signed_in(owner)

    many = send(client, own_set, "term\n" + "…\n" * 1234)
    chinese = send(client, own_set, "term\n" + "…\n" * 1234, **CHINESE)
    few = send(client, own_set, "term\n" + "…\n" * 100)

    assert "100 of 1,234 lines with faults are listed." in many
    assert "共 1234 行有错误，此处列出 100 行。" in chinese
    assert "are listed" not in few
    assert few.count('class="rs-number rs-end"') == 100


def test_a_value_that_is_none_is_told_in_the_words_of_the_reader(owner, own_set):
    client = signed_in(owner)
    content = "术语,类型\n波束管理,未知\n"

    assert "&#x27;未知&#x27; is not a kind. Use term, abbreviation or name." in send(client, own_set, content)
    assert "“未知”不是有效的类型。请使用术语、缩写或名称。" in send(client, own_set, content, **CHINESE)


def test_the_history_knows_the_name_of_the_file(owner, own_set):
    send(signed_in(owner), own_set, "term\nCA\n")

    assert LexiconChange.objects.get().file_name == "terms of 2024.csv"


def test_scripts_learn_how_many_suggestions_wait_from_each_decision_and_from_undoing_it(owner, own_set):
    terms = [
        term_save(scope=scope_of(owner), actor=owner, set_id=own_set.pk, values={"text": text, "status": "candidate"})
        for text in ("alpha", "beta")
    ]
    client = signed_in(owner)

    page = client.get(REVIEW, {"set": own_set.pk}).content.decode()
    values = {"set": own_set.pk, "term": terms[0].pk, "status": "approved"}
    done = client.post(DECIDE, values, **SCRIPT).json()
    undo = reverse("admin:knowledge_lexiconterm_undo", args=[done["undo"]])
    undone = client.post(undo, {"set": own_set.pk}, **SCRIPT).json()

    assert "data-count>2 suggestions are waiting.<" in page
    assert "<span data-suggested> (2)</span>" in page
    assert (done["left"], done["count_words"]) == (1, "1 suggestion is waiting.")
    assert (undone["left"], undone["count_words"]) == (2, "2 suggestions are waiting.")
    assert undone["message"] == "The change was undone."
