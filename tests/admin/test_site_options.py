"""The configuration of a site and its sets: form, history, export and import."""

from __future__ import annotations

import json

import pytest
from bs4 import BeautifulSoup
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import translation

from knowledge.models import OptionsChange, SiteOptions
from knowledge.selectors.options import GROUPS, options_shown
from ragcore.options import REWRITE_METHODS, for_comparing
from tests.admin.conftest import signed_in
from tests.factories import make_set, scope_of

SITE = "admin:knowledge_knowledgeset_site"
IMPORT = "admin:knowledge_optionschange_import"
EXPORT = "admin:knowledge_optionschange_export"


def options_page(row) -> str:
    return reverse("admin:knowledge_knowledgeset_options", args=[row.pk])


def soup_of(response) -> BeautifulSoup:
    assert response.status_code == 200, response.status_code
    return BeautifulSoup(response.content, "html.parser")


def file_of(options) -> str:
    return json.dumps({"format": "ragsite-options-1", "of": "x", "options": options})


def site() -> dict:
    return SiteOptions.objects.get().options


def test_every_option_of_every_group_has_a_field_with_its_range_or_its_words(administrator):
    soup = soup_of(signed_in(administrator).get(reverse(SITE)))

    named = {field["name"] for field in soup.select("form[method=post] fieldset [name]")}
    assert named == {
        f"{code}.{name}"
        for code, group in GROUPS.items()
        for name in group.__dataclass_fields__
        if name not in for_comparing(group)
    }
    words = [option["value"] for option in soup.select("[name='answer.rewrite_method'] option")]
    assert words == ["", *REWRITE_METHODS]
    assert soup.select_one("[name='answer.temperature']")["max"] == "2"


def test_every_word_of_every_option_has_words_of_its_own(administrator):
    offered = {
        (option.name, word, label)
        for group in options_shown(scope=scope_of(administrator))
        for option in group.options
        for word, label in option.choices
    }

    assert len(offered) == 51
    assert all(label and label != word for _name, word, label in offered)


def test_a_chosen_word_is_kept_and_the_empty_word_is_not_the_empty_field(administrator, own_set):
    client = signed_in(administrator)
    client.post(reverse(SITE), {"answer.preset": "fast", "answer.mode": "agentic"})

    client.post(options_page(own_set), {"answer.preset": "-"})

    own_set.refresh_from_db()
    assert site() == {"answer": {"preset": "fast", "mode": "agentic"}}
    assert own_set.options == {"answer": {"preset": ""}}
    soup = soup_of(client.get(options_page(own_set)))
    assert soup.select_one("[name='answer.preset'] option[selected]")["value"] == "-"
    origin = soup.select_one("[name='answer.mode']").find_parent(class_="rs-option").select_one(".rs-origin").text
    assert origin == "Agentic: searches until the evidence is enough (site default)"


def test_each_fault_stands_at_its_field_and_nothing_is_saved(administrator):
    values = {"answer.temperature": "7", "answer.mode": "magic", "chunking.max_tokens": "x", "retrieval.top_k": "5"}

    soup = soup_of(signed_in(administrator).post(reverse(SITE), values))

    wrong = {one.select_one("[name]")["name"] for one in soup.select(".rs-option[data-wrong]")}
    assert wrong == {"answer.temperature", "answer.mode", "chunking.max_tokens"}
    assert not SiteOptions.objects.filter(options__has_key="retrieval").exists()


def test_the_history_says_who_changed_what_from_what_and_why(administrator):
    client = signed_in(administrator)
    client.post(reverse(SITE), {"answer.max_chunks": "7", "note": "long procedures"})
    client.post(reverse(SITE), {"answer.max_chunks": "9"})

    history = soup_of(client.get(reverse(SITE))).select_one("[aria-labelledby=options-history] tbody")

    texts = [" ".join(row.get_text(" ").split()) for row in history.select("tr")]
    assert "Passages in the prompt: 7 → 9" in texts[0]
    assert "built-in default → 7" in texts[1]
    assert "long procedures" in texts[1]
    assert "root" in texts[1]


def test_taking_a_change_back_asks_first(administrator):
    client = signed_in(administrator)
    client.post(reverse(SITE), {"answer.max_chunks": "7"})
    client.post(reverse(SITE), {"answer.max_chunks": "9", "retrieval.top_k": "4"})
    undo = reverse("admin:knowledge_optionschange_undo", args=[OptionsChange.objects.latest("pk").pk])

    rows = [" ".join(row.get_text(" ").split()) for row in soup_of(client.get(undo)).select("tbody tr")]
    assert rows == ["Passages returned Searching 4 built-in default", "Passages in the prompt Answering 9 7"]
    assert site()["answer"] == {"max_chunks": 9}

    client.post(undo)
    assert site() == {"answer": {"max_chunks": 7}}


def test_an_export_can_be_imported_elsewhere(administrator, own_set):
    own_set.options = {"answer": {"mode": "agentic", "temperature": 0.5}, "chunking": {"split": False}}
    own_set.save()
    client = signed_in(administrator)

    exported = client.get(reverse(EXPORT), {"set": own_set.pk})
    other = make_set("copy", options={"retrieval": {"top_k": 3}})
    upload = SimpleUploadedFile("options.json", exported.content)
    page = client.post(reverse(IMPORT) + f"?set={other.pk}", {"file": upload})

    assert "options-own.json" in exported["Content-Disposition"]
    soup = soup_of(page)
    assert len(soup.select("tbody tr")) == 4
    other.refresh_from_db()
    assert other.options == {"retrieval": {"top_k": 3}}
    hidden = {one["name"]: one["value"] for one in soup.select("form.rs-bar input[name]")}
    client.post(reverse(IMPORT) + f"?set={other.pk}", hidden)
    other.refresh_from_db()
    assert other.options == own_set.options
    assert OptionsChange.objects.get().kind == "import"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "not a settings file"),
        ("[" * 100_000, "not a settings file"),
        ('{"options": {}}', "not a settings file"),
        (file_of([1]), "not a settings file"),
        (file_of({"cutting": {}}), "no setting cutting"),
        (file_of({"answer": {"magic": 1}}), "no setting answer.magic"),
        (file_of({"answer": {"temperature": 9}}), "answer.temperature"),
        (file_of({"answer": {"temperature": "0.5"}}), "wrong type"),
        (file_of({"answer": {"tiered": 1}}), "wrong type"),
        (file_of({"retrieval": {"top_k": True}}), "wrong type"),
        (file_of({"retrieval": {"top_k": 7.5}}), "wrong type"),
        (file_of({"answer": {"mode": ["basic"]}}), "wrong type"),
        (file_of({"answer": {"mode": "magic"}}), "answer.mode"),
    ],
)
def test_a_file_with_a_fault_is_refused_and_says_where(administrator, text, fault):
    page = signed_in(administrator).post(reverse(IMPORT), {"text": text, "confirm": "1"})

    assert fault in soup_of(page).select_one("[role=alert]").text
    assert not OptionsChange.objects.exists()


def test_an_import_that_changes_nothing_says_so(administrator):
    assert (
        "Nothing would change"
        in soup_of(signed_in(administrator).post(reverse(IMPORT), {"text": file_of({})})).get_text()
    )


# ── rights ──────────────────────────────────────────────────────────────────────────────────────


def test_owners_have_the_pages_of_their_sets_only(owner, own_set, other_set, administrator):
    client = signed_in(owner)
    signed_in(administrator).post(reverse(SITE), {"answer.max_chunks": "7"})
    site_change = OptionsChange.objects.get()

    for page in (EXPORT, IMPORT):
        assert client.get(reverse(page), {"set": own_set.pk}).status_code == 200
        assert client.get(reverse(page), {"set": other_set.pk}).status_code == 404
        assert client.get(reverse(page)).status_code == 403
        assert client.post(reverse(page) + f"?set={other_set.pk}", {"text": file_of({})}).status_code == 404
    undo = reverse("admin:knowledge_optionschange_undo", args=[site_change.pk])
    assert client.get(undo).status_code == client.post(undo).status_code == 404
    listed = client.get(reverse("admin:knowledge_optionschange_changelist")).context["cl"].result_list
    assert list(listed) == []


def test_administrators_choose_a_tenant_where_they_administer_several(administrator, stranger):
    client = signed_in(administrator)
    there = f"{reverse(SITE)}?tenant={stranger.tenant_id}"

    client.post(there, {"answer.max_chunks": "6"})

    assert SiteOptions.objects.get(options={"answer": {"max_chunks": 6}}).tenant == stranger.tenant
    tabs = soup_of(client.get(there)).select("nav.rs-tabs a")
    assert [(tab.text, "aria-current" in tab.attrs) for tab in tabs] == [("default", False), ("elsewhere", True)]
    assert soup_of(signed_in(stranger).get(reverse(SITE))).select("nav.rs-tabs a") == []
    for page in (SITE, EXPORT, IMPORT):
        answer = signed_in(stranger).get(reverse(page), {"tenant": administrator.tenant_id})
        assert answer.status_code == 404, page
    for odd in ("x", "-1", "9" * 30, "1.5"):
        assert client.get(reverse(SITE), {"tenant": odd}).status_code == 404


def test_the_list_of_changes_shows_no_names_of_other_tenants(administrator, stranger):
    make_set("secret-plan", owners=[administrator], options={})
    client = signed_in(administrator)
    client.post(reverse(SITE), {"answer.max_chunks": "7"})

    page = signed_in(stranger).get(reverse("admin:knowledge_optionschange_changelist"))

    assert list(page.context["cl"].result_list) == []
    assert "secret-plan" not in page.content.decode()


def test_a_single_change_can_be_opened_and_not_edited(administrator):
    client = signed_in(administrator)
    client.post(reverse(SITE), {"answer.max_chunks": "7"})
    page = reverse("admin:knowledge_optionschange_change", args=[OptionsChange.objects.get().pk])

    assert "Passages in the prompt" in client.get(page).content.decode()
    assert client.post(page, {"note": "x"}).status_code == 403


def test_the_pages_are_shown_in_chinese_too(administrator):
    client = signed_in(administrator)
    client.post(reverse(SITE), {"answer.max_chunks": "7"})

    with translation.override("zh-hans"):
        page = client.get(reverse(SITE), headers={"Accept-Language": "zh-hans"})

    assert page.status_code == 200


# ── what people see ─────────────────────────────────────────────────────────────────────────────


def test_what_is_wrong_stands_above_the_form_and_leads_to_its_field(administrator):
    client = signed_in(administrator)

    soup = soup_of(client.post(reverse(SITE), {"answer.max_chunks": "999"}))

    link = soup.select_one("#options-faults[role=alert] a")
    field = soup.select_one(f"[id='{link['href'].removeprefix('#')}']")
    assert field["name"] == "answer.max_chunks"
    assert not SiteOptions.objects.filter(options__answer__max_chunks=999).exists()


def test_an_inherited_word_is_explained_like_the_others_and_the_site_inherits_from_nobody(administrator, own_set):
    client = signed_in(administrator)
    of_set = reverse("admin:knowledge_knowledgeset_options", args=[own_set.pk])

    first = [soup_of(client.get(page)).select_one("[name='answer.mode'] option") for page in (reverse(SITE), of_set)]

    assert [one.text for one in first] == ["built-in default: Fast: one search", "inherited: Fast: one search"]


def test_a_change_is_shown_with_each_option_before_and_after_and_the_way_back(administrator):
    client = signed_in(administrator)
    client.post(reverse(SITE), {"answer.mode": "agentic", "note": "try it"})
    change = OptionsChange.objects.get()

    soup = soup_of(client.get(reverse("admin:knowledge_optionschange_change", args=[change.pk])))

    cells = [cell.get_text(" ", strip=True) for cell in soup.select(".rs-desk tbody tr > *")]
    assert cells[0].startswith("Mode")
    assert cells[1:] == ["built-in default", "Agentic: searches until the evidence is enough"]
    assert soup.select_one(f".rs-desk a[href='{reverse('admin:knowledge_optionschange_undo', args=[change.pk])}']")


def test_values_that_cannot_work_together_are_told_at_their_field(administrator):
    page = reverse(SITE)

    response = signed_in(administrator).post(page, {"retrieval.fused_limit": "10", "retrieval.top_k": "40"})

    wrong = {one.select_one("[name]")["name"] for one in soup_of(response).select(".rs-option[data-wrong]")}
    assert wrong == {"retrieval.top_k"}
    assert not SiteOptions.objects.filter(options__has_key="retrieval").exists()
