"""Failed attempts are counted in Redis; tables of django-axes hold names and addresses that nobody reads any more."""

from django.db import migrations

DROP = [
    "DROP TABLE IF EXISTS axes_accessattemptexpiration, axes_accessattempt, axes_accesslog, axes_accessfailurelog",
    "DELETE FROM django_migrations WHERE app = 'axes'",
    "DELETE FROM django_session",  # everybody signs in once more: sessions have a table with their people now
]


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0006_sign_in"),
        ("sessions", "0001_initial"),
    ]

    operations = [migrations.RunSQL(DROP, migrations.RunSQL.noop)]
