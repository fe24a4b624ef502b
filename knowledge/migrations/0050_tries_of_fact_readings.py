"""How often the language model did not answer for the next passage of a document, and when it was tried last."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0049_fits_from_use")]

    operations = [
        migrations.AddField("factreading", "tries", models.PositiveSmallIntegerField(db_default=0, default=0)),
        migrations.AddField("factreading", "tried", models.DateTimeField(null=True)),
    ]
