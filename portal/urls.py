"""URLs of the docs, public and without a session."""

from django.urls import path, re_path
from django.views.generic import RedirectView

from portal import views

urlpatterns = [
    path("llms.txt", views.llms_txt, name="docs_llms"),
    path("favicon.ico", views.favicon, name="docs_favicon"),
    path("docs", views.guide, name="docs"),
    path("docs/", RedirectView.as_view(pattern_name="docs", permanent=True)),
    path("docs/go-live", views.go_live, name="docs_go_live"),
    path("docs/reference", views.reference, name="docs_reference"),
    path("docs/reference/<slug:name>", views.reference_page, name="docs_reference_page"),
    path("docs/countries", views.countries, name="docs_countries"),
    path("docs/changelog", views.changelog, name="docs_changelog"),
    path("docs/search", views.search, name="docs_search"),
    path("docs/postman", views.postman_page, name="docs_postman"),
    path("docs/keys", views.keys, name="docs_keys"),
    path("docs/verify.py", views.verify_py, name="docs_verify"),
    path("docs/examples/<str:name>", views.example, name="docs_example"),
    path("docs/<path:name>.md", views.markdown, name="docs_markdown"),
    # The docs' own 404 page. A prefix, because `.` does not match a line feed.
    re_path(r"^docs/", views.not_found),
]
