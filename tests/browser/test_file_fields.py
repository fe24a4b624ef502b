"""Every file field by the file picker and by dropping, as people use them; none is left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Locator, Page, expect

from evaluation.models import GoldenCase, GoldenSet
from knowledge.models import Document, KnowledgeSet

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

WAYS = ("picker", "drop")
NOTE = "# Anemometer {n}\n\nThe anemometer {n} measures the wind at ten metres."
FACTS = "subject,relation,object\nMast {n},carries,Anemometer {n}\n"
TERMS = "term,kind\nanemometer {n},term\n"
CASES = "question,answers\nWhat measures the wind {n}?,an anemometer\n"
OPTIONS = '{"format": "ragsite-options-1", "options": {"retrieval": {"min_match": 1.2{n}}}}'


@dataclass(frozen=True)
class Field:
    """A file field: where it is, what is given to it, and what shows that the file arrived."""

    template: str  # that holds it
    address: str  # below the site; {set}, {golden} and {document}: numbers of rows
    name: str
    text: str
    arrival: Callable[[Page, str], Locator]
    button: str = ""  # none: files are sent when they are chosen
    before: Callable[[Page], Any] = lambda page: None


def _row(page: Page, name: str) -> Locator:
    return page.locator("#live-recent .rs-item[data-state=live]", has_text=name)


def _set_named(page: Page) -> None:
    page.locator("#id_name").fill("Weather stations")
    page.locator("#id_code").fill(f"weather-{id(page)}")


FIELDS = (
    Field(
        "templates/admin/accounts/user/directory.html",
        "/admin/accounts/user/directory/",
        "people-{n}.csv",
        "username,department\nnoor{n},Radio\n",
        lambda page, name: page.get_by_text("1 person would be changed or new."),
        "Read the file",
    ),
    Field(
        "templates/chat/composer.html",
        "/",
        "note-{n}.md",
        NOTE,
        lambda page, name: page.locator("#attached > li[data-state=ready]", has_text=name),
    ),
    Field(
        "templates/admin/knowledge/document/upload.html",
        "/admin/knowledge/document/upload/",
        "note-{n}.md",
        NOTE,
        _row,
        before=lambda page: page.get_by_label("3GPP specifications").check(),
    ),
    Field(
        "templates/admin/knowledge/knowledgeset/setup.html",
        "/admin/knowledge/knowledgeset/setup/",
        "station-{n}.md",
        NOTE,
        lambda page, name: page.get_by_text("1 file is being processed."),
        "Create the knowledge set",
        _set_named,
    ),
    Field(
        "templates/admin/knowledge/knowledgeset/import.html",
        "/admin/knowledge/knowledgeset/import/",
        "set-{n}.zip",
        NOTE,  # which is no set file: the page says so
        lambda page, name: page.get_by_text("This file is not a knowledge set file of this product."),
        "Continue",
    ),
    Field(
        "templates/admin/knowledge/document/version.html",
        "/admin/knowledge/document/{document}/version/",
        "version-{n}.md",
        NOTE,
        lambda page, name: page.get_by_text("The new version is being processed"),
        "Upload",
    ),
    Field(
        "templates/admin/knowledge/triple/import.html",
        "/admin/knowledge/triple/import/?set={set}",
        "facts-{n}.csv",
        FACTS,
        lambda page, name: page.locator("#live-imports", has_text=name),
        "Import",
    ),
    Field(
        "templates/admin/knowledge/lexiconterm/import.html",
        "/admin/knowledge/lexiconterm/import/?set={set}",
        "terms-{n}.csv",
        TERMS,
        lambda page, name: page.get_by_text("1 added, 0 changed, 0 unchanged."),
        "Import",
    ),
    Field(
        "templates/admin/evaluation/goldenset/import.html",
        "/admin/evaluation/goldenset/{golden}/import/",
        "cases-{n}.csv",
        CASES,
        lambda page, name: page.get_by_text("1 cases added, 0 updated."),
        "Import",
    ),
    Field(
        "templates/admin/knowledge/optionschange/preview.html",
        "/admin/knowledge/optionschange/import/?set={set}",
        "options-{n}.json",
        OPTIONS,
        lambda page, name: page.get_by_role("heading", name="1 setting would change"),
        "Preview changes",
    ),
)
IN_FRAMES = {"templates/chat/embed/frame.html"}  # tried in test_embedding.py, on a page of another site


@pytest.fixture(scope="module", autouse=True)
def numbers(live_site: Any, beside: Any) -> dict[str, int]:
    """Rows that the addresses name."""

    def made() -> dict[str, int]:
        home = KnowledgeSet.objects.get(code="3gpp")
        golden = GoldenSet.objects.create(tenant=home.tenant, name="weather")
        GoldenCase.objects.filter(golden_set=golden).delete()
        document = Document.objects.filter(sets=home).latest("pk")
        return {"set": home.pk, "golden": golden.pk, "document": document.pk}

    return beside(made)  # type: ignore[no-any-return]


def _file(field: Field, folder: Path, way: str) -> Path:
    """Names differ by a word: those that differ by a number are asked about as versions."""
    path = folder / field.name.replace("{n}", way)
    path.write_text(field.text.replace("{n}", str(WAYS.index(way))), encoding="utf-8")
    return path


def _visible_control(page: Page) -> Locator:
    """What a person clicks: the area of the field, or the button of the chat."""
    return page.locator(".rs-drop, #attach").first


def _drop(page: Page, target: Locator, file: Path) -> None:
    """Files from the desktop, as Chromium gets them from the system."""
    box = target.bounding_box()
    assert box is not None
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + min(box["height"], 40) / 2}
    data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    client = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        client.send("Input.dispatchDragEvent", {"type": kind, **at, "data": data})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.template.rpartition(".")[0])
def test_a_file_arrives(field: Field, way: str, open_page: Any, numbers: dict[str, int], tmp_path: Path) -> None:
    page = open_page(at=field.address.format(**numbers))
    field.before(page)
    file = _file(field, tmp_path, way)

    control = _visible_control(page)
    control.scroll_into_view_if_needed()
    if way == "picker":
        with page.expect_file_chooser() as chooser:
            control.click()
        chooser.value.set_files(file)
    else:
        _drop(page, page.locator("#composer") if control.get_attribute("id") == "attach" else control, file)
    if field.button:
        expect(page.locator("[data-names] li")).to_have_text([file.name])
        page.get_by_role("button", name=field.button, exact=True).click()

    expect(field.arrival(page, file.name)).to_be_visible()


def test_a_picture_is_pasted_into_the_chat(open_page: Any, live_site: Any) -> None:
    page = open_page()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(
        """async () => {
            const canvas = Object.assign(document.createElement("canvas"), { width: 60, height: 30 });
            canvas.getContext("2d").fillText("ALM", 4, 20);
            const blob = await new Promise((resolve) => canvas.toBlob(resolve));
            await navigator.clipboard.write([new ClipboardItem({ "image/png": blob })]);
        }"""
    )
    page.locator("#question").click()

    page.keyboard.press("Control+V")

    expect(page.locator("#attached > li")).to_contain_text(".png")


def _places_of_file_fields() -> set[str]:
    """Templates with a file field of their own or of a form, and forms with one."""
    root = Path(settings.BASE_DIR)
    templates = {path: path.read_text(encoding="utf-8") for path in (root / "templates").rglob("*.html")}
    marks = ('type="file"', "admin/file_field.html", 'enctype="multipart/form-data"')
    return {
        str(path.relative_to(root))
        for path, text in templates.items()
        if any(mark in text for mark in marks) and path.name != "file_field.html"
    }


def test_each_file_field_of_the_templates_is_tried_above() -> None:
    assert _places_of_file_fields() == {field.template for field in FIELDS} | IN_FRAMES


def test_no_form_of_the_admin_shows_a_file_field_that_is_not_tried_above(
    open_page: Any, live_site: Any, numbers: dict[str, int]
) -> None:
    """Pages that the admin makes from models have none; each list and each form for a new row is opened."""
    from django.contrib import admin

    page = open_page()
    with_fields = []
    for model in admin.site._registry:
        address = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
        for suffix in ("", "add/"):
            answer = page.request.get(f"{live_site.url}{address}{suffix}")
            if re.search(r'<input[^>]*type="file"', answer.text()):
                with_fields.append(f"{address}{suffix}")
    assert with_fields == []


def test_no_script_swallows_the_change_of_a_field() -> None:
    """A listener in the capture phase that stops an event takes it from everybody else."""
    faults = []
    for path in sorted((Path(settings.BASE_DIR) / "static").rglob("*.js")):
        if "/unfold/" in str(path):
            continue
        text = path.read_text(encoding="utf-8")
        faults += [
            f"{path.name}: {match[1]}"
            for match in re.finditer(r'addEventListener\(\s*"(change|input|paste|drop)",(.*?)\n\s*\);?\n', text, re.S)
            if "stopPropagation" in match[2] or "stopImmediatePropagation" in match[2]
        ]
    assert faults == []
