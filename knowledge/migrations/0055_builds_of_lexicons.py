"""A worker claims the version of a lexicon that it builds; one that cannot be built says why."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0054_checkpoints_of_fits")]

    operations = [
        migrations.AddField(
            model_name="lexiconversion", name="claim", field=models.UUIDField(editable=False, null=True)
        ),
        migrations.AddField(
            model_name="lexiconversion", name="failures", field=models.PositiveSmallIntegerField(db_default=0, default=0)
        ),
        migrations.AddField(
            model_name="lexiconversion", name="problem", field=models.CharField(blank=True, db_default="", max_length=200)
        ),
        migrations.AlterField(
            model_name="lexiconversion",
            name="state",
            field=models.CharField(
                choices=[
                    ("building", "Being published"),
                    ("live", "In use"),
                    ("retired", "Previous version"),
                    ("failed", "Not published"),
                ],
                default="building",
                max_length=16,
                verbose_name="state",
            ),
        ),
    ]
