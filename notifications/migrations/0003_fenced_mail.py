"""Who mails a notification holds it by an attempt and a lease, as all background work."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0002_mail_lease")]

    operations = [
        migrations.RenameField("notification", "leased_until", "lease_until"),
        migrations.AlterField(
            "notification", "lease_until", models.DateTimeField(blank=True, editable=False, null=True)
        ),
        migrations.AddField(
            "notification", "attempt", models.PositiveIntegerField(default=0, db_default=0, editable=False)
        ),
    ]
