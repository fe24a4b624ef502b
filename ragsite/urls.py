"""Every address of the site."""

from django.contrib import admin
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from django.views.i18n import set_language

from ragsite import views
from ragsite.admin_home import health as admin_health
from ragsite.api import api_urls, in_envelope, in_envelopes
from ragsite.health import health
from ragsite.rest import rest_router

urlpatterns = [
    path("admin/login/", views.admin_sign_in),  # before the theme's own page
    path("admin/health/", admin.site.admin_view(admin_health), name="admin-health"),
    path("admin/", admin.site.urls),
    path("i18n/setlang", set_language, name="set_language"),
    path("health", health, name="health"),
    path("metrics", views.metrics, name="metrics"),
    path("api/docs", csrf_exempt(in_envelope(views.api_docs)), name="api-docs"),
    path("api/schema", csrf_exempt(in_envelope(views.schema)), name="schema"),
    path("api/v1/", include(in_envelopes(rest_router().urls, json_only=False))),
    path("scim/v2/", include("accounts.scim.urls")),
    path("", include("chat.urls")),
    path("", include("feedback.urls")),
    path("", include("accounts.urls")),
    path("", include("notifications.urls")),
    path("", include("knowledge.urls")),
    path("", api_urls()),  # the last: ninja claims the root of its prefix
]

handler400 = views.bad_request
handler403 = views.forbidden
handler404 = views.not_found
handler500 = views.server_error
