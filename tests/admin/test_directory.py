"""The page of people from a directory or a list."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.key_scopes import KeyScope
from accounts.models import User
from accounts.services import api_key_create
from tests.api.world import World, world_make

PAGE = "/admin/accounts/user/directory/"
CSV = "username,department,groups,active\nmei,Radio,core,\nbob,,,no\n,Core,,\n"


@pytest.fixture
def world(db: None) -> World:
    return world_make()


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def read(client: Client, text: str | bytes = CSV, name: str = "people.csv", **fields: str) -> str:
    content = text.encode() if isinstance(text, str) else text
    answer = client.post(PAGE, {"file": SimpleUploadedFile(name, content), **fields})
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_preview_changes_nothing_and_an_import_does(world):
    client = browser(world.root)

    preview = read(client, preview="on")
    assert "2 people would be changed or new." in preview
    assert "it has no user name" in preview
    assert not User.objects.filter(username="mei").exists()
    assert User.objects.get(username="bob").is_active

    done = read(client)
    assert "2 people are changed or new." in done
    mei = User.objects.get(username="mei")
    assert (mei.tenant, mei.department) == (world.home, "Radio")
    assert not User.objects.get(username="bob").is_active


def test_people_come_into_the_tenant_of_the_administrator(world):
    read(browser(world.eve), "username\nmei\n")

    assert User.objects.get(username="mei").tenant == world.abroad
    taken = read(browser(world.root), "username\nmei\n")
    assert "the user name &#x27;mei&#x27; is in use elsewhere" in taken


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("name\nmei\n", "a.csv", "the first line needs a column username"),
        ("username,shoe\nmei,3\n", "a.csv", "unknown columns: shoe"),
        ("{", "a.json", "the file is no JSON"),
        (b"username\n\xff\xfe\n", "a.csv", "Save the file as UTF-8"),
        ("username\n" + "".join(f"p{n}\n" for n in range(501)), "a.csv", "more than 500 people"),
        ("username\n" + "x" * (2 * 1024 * 1024), "a.csv", "too large for this page"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(world, text, name, words):
    assert words in read(browser(world.root), text, name)
    assert User.objects.count() == 4


def test_a_list_of_scim_is_read_too_and_the_page_is_chinese_for_who_reads_chinese(world):
    client = browser(world.root)
    client.cookies["django_language"] = "zh-hans"

    page = read(client, '{"Resources": [{"userName": "mei", "title": "工程师"}, {}]}', "people.json")

    assert User.objects.get(username="mei").role == "工程师"
    assert "没有用户名" in page
    assert "来自目录或名单的人员" in page


def test_the_page_names_the_address_and_the_keys_of_the_tenant_with_their_last_use(world):
    for user, name in ((world.root, "Entra of home"), (world.eve, "Okta of abroad")):
        api_key_create(user=user, name=name, scopes=[KeyScope.DIRECTORY])
    api_key_create(user=world.root, name="other", scopes=[KeyScope.READ])

    page = browser(world.root).get(PAGE).content.decode()

    assert "http://testserver/scim/v2" in page
    assert "Entra of home" in page
    assert "never" in page
    assert "Okta of abroad" not in page
    assert "other (" not in page


def test_it_is_for_administrators(world):
    staff = User.objects.create(username="staff", tenant=world.home, is_staff=True)

    assert browser(staff).get(PAGE).status_code == 403
