"""Paths of the docs, public and without a session."""

from django.urls import path

from partners.docs import views

urlpatterns = [
    path("openapi.json", views.openapi_json, name="openapi"),
    path("docs", views.guide, name="docs"),
    path("docs/reference", views.reference, name="docs_reference"),
    path("docs/doctor", views.doctor, name="docs_doctor"),
    path("docs/signing-vectors.json", views.signing_vectors, name="docs_signing_vectors"),
    path("docs/examples/<str:name>", views.example, name="docs_example"),
]
