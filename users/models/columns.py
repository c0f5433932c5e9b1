"""The columns of a user's profile: models, statements and triggers are made from them."""

# What a partner may change.
PROFILE_COLUMNS = (
    "email",
    "first_name",
    "last_name",
    "date_of_birth",
    "address_line1",
    "address_line2",
    "city",
    "postal_code",
    "province",
    "country",
    "occupation",
    "is_ciro_affiliate",
)

# What only those see who hold users.view_identity: birth date and address. Province and country alone find nobody.
IDENTITY_PERMISSION = "users.view_identity"
IDENTITY_COLUMNS = frozenset({"date_of_birth", "address_line1", "address_line2", "city", "postal_code"})
