"""Measurements that docs/ quotes, to be made again. Not part of the service."""
