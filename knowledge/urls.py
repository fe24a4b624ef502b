"""Pages of documents and passages."""

from django.urls import path

from knowledge import views

app_name = "knowledge"
urlpatterns = [
    path("documents/<int:document_id>", views.document, name="document"),
    path("documents/<int:document_id>/original", views.original, name="original"),
    path("documents/<int:document_id>/rendition.pdf", views.rendition, name="rendition"),
    path("versions/<int:version_id>/pages/<int:number>.png", views.version_page, name="version-page"),
    path("pictures/<int:version_id>/<str:name>", views.picture, name="picture"),
    path("chunks/<int:chunk_id>/page.png", views.page_picture, name="page"),
]
