"""The records of users, kept, held and erased: holds on a case, and the list of those that are due."""
