"""A change of options holds for the next request of every process, without a restart."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from knowledge.models import OptionsChange
from knowledge.selectors import corpus_epoch
from knowledge.selectors.options import options_shown
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, scope_of
from tests.live_site import ROOT, child_environment

CHANGE = """
import json, sys
import django
django.setup()
from accounts.models import User
from accounts.selectors import scope_for
from knowledge.services.options import set_options_update, site_options_update
user = User.objects.get(username=sys.argv[1])
options, set_id = json.loads(sys.argv[2]), int(sys.argv[3])
who = {"scope": scope_for(user), "actor": user, "options": options}
set_options_update(set_id=set_id, **who) if set_id else site_options_update(**who)
"""
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(120)]


def change_elsewhere(user, options, *, set_id=0):
    """In another process, as another worker of the site would."""
    command = [sys.executable, "-c", CHANGE, user.username, json.dumps(options), str(set_id)]
    subprocess.run(command, cwd=ROOT, env=child_environment(), check=True, timeout=60)


def is_relevant(user, kept):
    request = RetrievalRequest(query="When does the handover begin?", sets=(kept.pk,))
    return retrieve(scope=scope_of(user), request=request).relevant


@pytest.mark.full
def test_what_another_process_saves_holds_for_the_next_search_here(redis_client):
    admin = make_admin()
    kept = make_set(owners=[admin])
    ingest(admin, kept, ho="The handover begins with a measurement report of the terminal.")
    epochs = [corpus_epoch(scope=scope_of(admin))]
    assert is_relevant(admin, kept)

    change_elsewhere(admin, {"retrieval": {"min_match": 10.0, "min_cosine": 1.0}})
    epochs.append(corpus_epoch(scope=scope_of(admin)))
    assert not is_relevant(admin, kept)

    change_elsewhere(admin, {"retrieval": {"min_match": 0.0}}, set_id=kept.pk)
    epochs.append(corpus_epoch(scope=scope_of(admin)))
    assert is_relevant(admin, kept)
    assert epochs == sorted(set(epochs))  # answers that are kept in the cache are out of date each time
    shown = next(
        o for g in options_shown(scope=scope_of(admin), set_id=kept.pk) for o in g.options if o.name == "min_match"
    )
    assert (shown.value, shown.inherited, shown.origin) == (0.0, 10.0, f"set {kept.code}")
    assert OptionsChange.objects.count() == 2
