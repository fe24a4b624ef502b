"""What a golden case tests is said by fields; until now it was said by tags such as "target:table"."""

from django.db import migrations, models

FIELDS = {
    "target": ("text", "table", "figure", "attachment", "code"),
    "structure": ("sentence", "long_text", "several_passages", "heading_level"),
    "robustness": ("synonyms", "jargon", "special_words"),
}


def tags_to_fields(apps, schema_editor):
    cases = apps.get_model("evaluation", "GoldenCase").objects
    for field, values in FIELDS.items():
        for value in values:
            tag = f"{field}:{value}"
            for case in cases.filter(tags__contains=[tag], **{field: ""}):
                setattr(case, field, value)
                case.tags = [other for other in case.tags if other != tag]
                case.save(update_fields=[field, "tags"])


def fields_to_tags(apps, schema_editor):
    cases = apps.get_model("evaluation", "GoldenCase").objects
    for field in FIELDS:
        for case in cases.exclude(**{field: ""}):
            case.tags = [*case.tags, f"{field}:{getattr(case, field)}"]
            case.save(update_fields=["tags"])
    schema_editor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # the columns are dropped in the same transaction


def choices(**labels):
    return list(labels.items())


class Migration(migrations.Migration):
    dependencies = [("evaluation", "0024_group_of_drafts")]

    operations = [
        migrations.AddField(
            model_name="goldencase",
            name="target",
            field=models.CharField(
                blank=True,
                choices=choices(
                    text="Text", table="Table", figure="Figure", attachment="Attachment", code="Program code"
                ),
                db_default="",
                default="",
                max_length=16,
                verbose_name="answer type",
            ),
        ),
        migrations.AddField(
            model_name="goldencase",
            name="structure",
            field=models.CharField(
                blank=True,
                choices=choices(
                    sentence="Single sentence",
                    long_text="Long text",
                    several_passages="Multiple passages",
                    heading_level="Under a heading",
                ),
                db_default="",
                default="",
                max_length=16,
                verbose_name="location",
            ),
        ),
        migrations.AddField(
            model_name="goldencase",
            name="robustness",
            field=models.CharField(
                blank=True,
                choices=choices(synonyms="Synonyms", jargon="Jargon", special_words="Rare terms"),
                db_default="",
                default="",
                max_length=16,
                verbose_name="difficulty",
            ),
        ),
        migrations.RunPython(tags_to_fields, fields_to_tags, elidable=True),
    ]
