"""URLs of conversions and documents."""

from django.urls import path

from transactions.api.sandbox import SimulatedDocuments, SimulatedTransactions
from transactions.api.views import DocumentFile, DocumentList, TransactionList

urlpatterns = [
    path("v1/users/<str:external_id>/transactions", TransactionList.as_view()),
    path("v1/users/<str:external_id>/documents", DocumentList.as_view()),
    path("v1/users/<str:external_id>/documents/<str:document_id>", DocumentFile.as_view()),
    path("v1/sandbox/users/<str:external_id>/transactions", SimulatedTransactions.as_view()),
    path("v1/sandbox/users/<str:external_id>/documents", SimulatedDocuments.as_view()),
]
