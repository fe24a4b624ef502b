"""What Django can say of itself; part of the lint in spirit, here because it wants a database."""

import pytest
from django.core.management import call_command


@pytest.mark.django_db
def test_every_change_of_a_model_has_its_migration():
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


@pytest.mark.django_db
def test_the_system_check_finds_nothing():
    call_command("check", fail_level="WARNING", databases=["default"])
