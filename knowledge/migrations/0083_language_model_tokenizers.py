from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0082_lexicon_model_scores")]

    operations = [
        migrations.AddField(
            model_name="languagemodel",
            name="tokenizer",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Counts the prompts of this model. A tokenizer.json or a folder with one, in the folder "
                "models of the site’s data, such as tokenizers/qwen3; or cl100k_base or o200k_base. If empty, tokens "
                "are counted as usual.",
                max_length=255,
                verbose_name="tokenizer",
            ),
        ),
    ]
