"""The gate also measures fitted weights of the reranker."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0015_gate_of_the_site")]

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
                    ("reranker", "Reranker of the site"),
                    ("reranker_fit", "Fitted reranker weights"),
                    ("site_options", "Default settings"),
                    ("site_lexicon", "Lexicon of the organisation"),
                ],
                default="set_options",
                max_length=16,
                verbose_name="kind",
            ),
        ),
    ]
