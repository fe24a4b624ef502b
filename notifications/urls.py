"""The inbox."""

from django.urls import path

from notifications import views

app_name = "notifications"
urlpatterns = [
    path("inbox", views.inbox, name="inbox"),
    path("inbox/read", views.read_all, name="read_all"),
    path("inbox/<int:notification_id>", views.open_notification, name="open"),
]
