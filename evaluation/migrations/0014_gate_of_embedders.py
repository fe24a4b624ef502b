"""The gate also measures another embedding model of the site."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0013_gate_of_query_adapters")]

    operations = [
        migrations.AlterField(
            model_name="gatedchange",
            name="kind",
            field=models.CharField(
                choices=[
                    ("set_options", "Settings of a knowledge set"),
                    ("set_texts", "Prompt texts of a knowledge set"),
                    ("lexicon", "Lexicon of a knowledge set"),
                    ("query_adapter", "Fitted query vectors"),
                    ("embedder", "Embedding model of the site"),
                ],
                default="set_options",
                max_length=16,
                verbose_name="kind",
            ),
        ),
    ]
