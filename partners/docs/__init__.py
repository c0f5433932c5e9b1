"""What partners' developers read: the guide, the reference made from the OpenAPI description, and the doctor."""
