"""The gate also measures texts of prompts and lexicons; drafts of a case have no measurement of their own any more."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0011_triples_component")]

    operations = [
        migrations.AddField(
            model_name="runconfiguration",
            name="tried",
            field=models.JSONField(db_default={}, default=dict),
        ),
        migrations.AlterField(
            model_name="gatedchange",
            name="kind",
            field=models.CharField(
                choices=[
                    ("set_options", "Settings of a knowledge set"),
                    ("set_texts", "Prompt texts of a knowledge set"),
                    ("lexicon", "Lexicon of a knowledge set"),
                ],
                default="set_options",
                max_length=16,
                verbose_name="kind",
            ),
        ),
        migrations.RemoveField(model_name="optionsdraft", name="measured"),
    ]
