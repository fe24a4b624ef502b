"""Drafts of a case say which group of settings they change: until now always those of the search."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0023_runs_as_jobs")]

    operations = [
        migrations.AddField(
            model_name="optionsdraft",
            name="group",
            field=models.CharField(
                choices=[("retrieval", "Searching"), ("answer", "Answering"), ("texts", "Prompts")],
                db_default="retrieval",
                default="retrieval",
                max_length=12,
            ),
        )
    ]
