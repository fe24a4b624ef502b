"""Pages of documents and passages."""

from django.urls import path

from knowledge import access_views, views

app_name = "knowledge"
urlpatterns = [
    path("sets", access_views.sets, name="sets"),
    path("sets/<int:set_id>", access_views.set_page, name="set"),
    path("sets/<int:set_id>/access", access_views.ask_for_access, name="ask-for-access"),
    path("access-requests/<int:request_id>", access_views.access_request, name="access-request"),
    path("access-requests/<int:request_id>/withdraw", access_views.withdraw, name="access-withdraw"),
    path("documents/<int:document_id>", views.document, name="document"),
    path("documents/<int:document_id>/original", views.original, name="original"),
    path("documents/<int:document_id>/rendition.pdf", views.rendition, name="rendition"),
    path("versions/<int:version_id>/pages/<int:number>.png", views.version_page, name="version-page"),
    path("pictures/<int:version_id>/<str:name>", views.picture, name="picture"),
    path("chunks/<int:chunk_id>/page.png", views.page_picture, name="page"),
]
