from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("knowledge", "0026_queue_turns"),
    ]

    operations = [
        migrations.AddField(
            model_name="knowledgeset",
            name="answer_template",
            field=models.TextField(
                blank=True,
                db_default="",
                default="",
                help_text="Headings and order of answers when this set is asked alone. Needs a language model.",
                max_length=2000,
                verbose_name="answer template",
            ),
        ),
    ]
