"""Every address of the site."""

from django.contrib import admin
from django.urls import include, path
from django.views.i18n import set_language
from drf_spectacular.views import SpectacularSwaggerView

from ragsite import views
from ragsite.api import api
from ragsite.rest import rest_router

urlpatterns = [
    path("admin/login/", views.admin_sign_in),  # before the theme's own page
    path("admin/", admin.site.urls),
    path("i18n/setlang", set_language, name="set_language"),
    path("health", views.health, name="health"),
    path("metrics", views.metrics, name="metrics"),
    path("api/docs", SpectacularSwaggerView.as_view(url_name="schema"), name="api-docs"),
    path("api/schema", views.schema, name="schema"),
    path("api/v1/", include(rest_router().urls)),
    path("", include("chat.urls")),
    path("", include("accounts.urls")),
    path("", include("knowledge.urls")),
    path("", api.urls),  # the last: ninja claims the root of its prefix
]

handler400 = views.bad_request
handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.server_error
