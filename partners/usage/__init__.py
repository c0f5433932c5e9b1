"""How each partner uses the API: counts of requests by hour, key, status, failure and clock skew."""
