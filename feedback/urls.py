"""Addresses of feedback that are not part of the API."""

from django.urls import path

from feedback import views

app_name = "feedback"
urlpatterns = [path("embed/<str:code>/feedback", views.embed_feedback, name="embed_feedback")]
