"""How the back office writes instants: 24 hours and the zone's name, in each language (FORMAT_MODULE_PATH).

Django's own formats name no zone. The rest, dates among it, is Django's.
"""
