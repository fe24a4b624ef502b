"""The chat page and its parts."""

from django.urls import path

from chat.announcements.views import dismiss
from chat.embeds import file_views as embed_files
from chat.embeds import views as embeds
from chat.embeds.script import embed_script
from chat.pages import composer_views, conversation_views, sharing_views, views

app_name = "chat"
urlpatterns = [
    path("", views.home, name="home"),
    path("suggestions", composer_views.suggest, name="suggestions"),
    path("examples", composer_views.examples, name="examples"),
    path("preferences", composer_views.preferences, name="preferences"),
    path("announcements/<int:announcement_id>/dismiss", dismiss, name="announcement_dismiss"),
    path("embed.js", embed_script, name="embed_script"),
    path("embed/<str:code>", embeds.frame, name="embed"),
    path("embed/<str:code>/preview", embeds.preview_frame, name="embed_preview"),
    path("embed/<str:code>/session", embeds.session, name="embed_session"),
    path("embed/<str:code>/leave", embeds.leave, name="embed_leave"),
    path("embed/<str:code>/attachments", embed_files.attachments, name="embed_attachments"),
    path("embed/<str:code>/attachments/<uuid:attachment_id>", embed_files.attachment, name="embed_attachment"),
    path(
        "embed/<str:code>/attachments/<uuid:attachment_id>/retry",
        embed_files.attachment_again,
        name="embed_attachment_again",
    ),
    path("embed/<str:code>/conversations/<uuid:conversation_id>", embeds.conversation, name="embed_conversation"),
    path("embed/<str:code>/messages/<uuid:message_id>", embeds.message, name="embed_message"),
    path("embed/<str:code>/messages/<uuid:message_id>/sources/<int:number>", embeds.source, name="embed_source"),
    path("conversations", conversation_views.conversations, name="conversations"),
    path("c/<uuid:conversation_id>", views.conversation, name="conversation"),
    path("c/<uuid:conversation_id>/rename", views.rename, name="rename"),
    path("c/<uuid:conversation_id>/pin", views.pin, name="pin"),
    path("c/<uuid:conversation_id>/sets", views.choose_sets, name="choose_sets"),
    path("c/<uuid:conversation_id>/turns", conversation_views.earlier, name="earlier"),
    path("c/<uuid:conversation_id>/move", conversation_views.move, name="move"),
    path("c/<uuid:conversation_id>/branch", conversation_views.show_branch, name="show_branch"),
    path("c/<uuid:conversation_id>/archive", conversation_views.archive, name="archive"),
    path("c/<uuid:conversation_id>/delete", views.delete, name="delete"),
    path("c/<uuid:conversation_id>/export", views.conversation_export, name="conversation_export"),
    path("shared", sharing_views.links, name="links"),
    path("shared/<uuid:link_id>", sharing_views.shared, name="shared"),
    path("shared/<uuid:link_id>/revoke", sharing_views.revoke, name="link_revoke"),
    path("attachments/<uuid:attachment_id>/file", views.attachment_file, name="attachment_file"),
    path("messages/<uuid:message_id>/follow-ups", views.message_follow_ups, name="message_follow_ups"),
    path("messages/<uuid:message_id>/export", views.message_export, name="message_export"),
    path("messages/<uuid:message_id>", views.message, name="message"),
    path("messages/<uuid:message_id>/facts", views.message_facts, name="message_facts"),
    path("messages/<uuid:message_id>/sources/<int:number>", views.source, name="source"),
]
