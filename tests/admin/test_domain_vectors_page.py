"""Domain vectors in the admin: what is shown, switching off, on and back, and who may."""

import pytest
from django.urls import reverse
from django.utils import translation

from accounts.models import AuditEvent
from knowledge.models import LatentModel, TenantVectors
from knowledge.services import latent_models
from tests.admin.conftest import signed_in
from tests.factories import ingest, make_admin, make_set, make_tenant, scope_of

pytestmark = pytest.mark.django_db(transaction=True)

LIST = reverse("admin:knowledge_latentmodel_changelist")
ON = reverse("admin:knowledge_latentmodel_on")


@pytest.fixture
def admin(monkeypatch):
    monkeypatch.setattr(latent_models, "LEAST_PASSAGES", 3)
    admin = make_admin()
    texts = {f"d{n}": f"Report {n} about beams and the losses of filter {n}." for n in range(4)}
    ingest(admin, make_set("common", owners=[admin]), **texts)
    latent_models.latents_refresh()
    return admin


def test_the_page_says_what_is_in_use_in_both_languages(admin):
    LatentModel.objects.update(drift=0.04, drift_passages=120)
    client = signed_in(admin)

    page = client.get(LIST).content.decode()
    with translation.override("zh-hans"):
        chinese = client.get(LIST, HTTP_ACCEPT_LANGUAGE="zh-hans").content.decode()

    assert "Version 1 is in use." in page
    assert "4 % in 120 new passages" in page
    assert "领域向量" in chinese


def test_switching_off_and_back_is_audited(admin):
    client = signed_in(admin)
    latent = LatentModel.objects.get()

    client.post(reverse("admin:knowledge_latentmodel_off", args=[latent.pk]))
    assert TenantVectors.objects.get().latent == 0
    assert "Domain vectors are switched off." in client.get(LIST).content.decode()
    client.post(reverse("admin:knowledge_latentmodel_use", args=[latent.pk]))
    assert TenantVectors.objects.get().latent == latent.pk
    client.post(reverse("admin:knowledge_latentmodel_off", args=[latent.pk]))
    client.post(ON)
    assert not TenantVectors.objects.get().latent_off

    actions = list(AuditEvent.objects.filter(action__startswith="domain_vectors").values_list("action", flat=True))
    assert sorted(actions) == [
        "domain_vectors.off",
        "domain_vectors.off",
        "domain_vectors.on",
        "domain_vectors.switch",
    ]


def test_the_page_says_in_both_languages_what_a_version_finds_and_why_it_is_not_used(admin):
    client, latent = signed_in(admin), LatentModel.objects.get()
    assert "sentences of your passages" not in client.get(LIST).content.decode()  # too few were there
    latent_models.latent_switch_off(scope=scope_of(admin), actor=admin, latent_id=latent.pk)
    LatentModel.objects.update(figures={"questions": 150, "passages": 3000, "embedder": 0.9, "domain": 0.84})

    page = client.get(LIST).content.decode()
    with translation.override("zh-hans"):
        chinese = client.get(LIST, HTTP_ACCEPT_LANGUAGE="zh-hans").content.decode()

    assert "84 % find their own passage among the first ten; by the embedding model alone 90 %." in page
    assert "It finds less, so it is kept" in page
    assert "Use version 1" in page
    assert "有 84 % 在前十条结果中找到其所在段落；仅用向量模型时为 90 %。" in chinese
    assert "由于找到的更少" in chinese


def test_owners_and_other_tenants_see_nothing_of_it(admin, owner):
    latent = LatentModel.objects.get()
    use = reverse("admin:knowledge_latentmodel_off", args=[latent.pk])
    stranger = make_admin(tenant=make_tenant())

    assert signed_in(owner).get(LIST).status_code == 403
    signed_in(owner).post(use)
    assert "Version 1 is in use." not in signed_in(stranger).get(LIST).content.decode()
    signed_in(stranger).post(use)
    assert TenantVectors.objects.get(tenant=admin.tenant).latent == latent.pk
