"""What all lists and pages of the admin share."""
