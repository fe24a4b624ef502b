"""Pages of documents and passages."""

from django.urls import path

from knowledge import views

app_name = "knowledge"
urlpatterns = [
    path("documents/<int:document_id>", views.document, name="document"),
    path("documents/<int:document_id>/original", views.original, name="original"),
    path("chunks/<int:chunk_id>/page.png", views.page_picture, name="page"),
]
