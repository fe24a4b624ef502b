"""Who mails a notification holds it by a lease, without a lock."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_initial")]

    operations = [
        migrations.AddField("notification", "leased_until", models.DateTimeField(blank=True, null=True)),
    ]
