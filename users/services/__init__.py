"""The rules on users and staff, called by the API, the back office and the commands alike."""
