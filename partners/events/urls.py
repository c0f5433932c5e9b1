"""URLs of the feed."""

from django.urls import path

from partners.events.views import EventList

urlpatterns = [path("v1/events", EventList.as_view())]
