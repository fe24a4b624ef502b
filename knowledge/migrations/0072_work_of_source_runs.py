"""Runs of sources are background jobs, and a source names the run that reads it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0071_no_rotations_of_corpora"), ("work", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="syncrun",
            name="work",
            field=models.OneToOneField(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to="work.job"
            ),
        ),
        migrations.AddField(
            model_name="source",
            name="run",
            field=models.ForeignKey(
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="knowledge.syncrun",
            ),
        ),
    ]
