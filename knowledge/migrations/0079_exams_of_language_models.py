from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0078_states_of_versions")]

    operations = [
        migrations.CreateModel(
            name="ModelExam",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("fingerprint", models.CharField(max_length=64, unique=True)),
                ("name", models.CharField(max_length=128, verbose_name="model")),
                ("finished", models.DateTimeField(null=True, verbose_name="finished")),
                ("results", models.JSONField(default=list)),
                ("profile", models.JSONField(default=dict)),
                ("overrides", models.JSONField(default=dict)),
            ],
            options={
                "verbose_name": "exam of a language model",
                "verbose_name_plural": "exams of language models",
            },
        ),
    ]
