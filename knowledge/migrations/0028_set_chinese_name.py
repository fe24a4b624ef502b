from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0027_answer_templates")]

    operations = [
        migrations.AddField(
            model_name="knowledgeset",
            name="name_zh",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Shown in the Chinese interface. If empty, the name is used.",
                max_length=128,
                verbose_name="Chinese name",
            ),
        ),
    ]
