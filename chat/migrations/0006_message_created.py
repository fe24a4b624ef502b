from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0005_conversations_in_folders")]

    operations = [
        migrations.AddIndex(
            model_name="message", index=models.Index(fields=["-created"], name="chat_message_created")
        ),
    ]
