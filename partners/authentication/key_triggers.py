"""Triggers that keep an API key's identity, revocation and expiry, whatever SQL is run."""

import pgtrigger

from partners.db.triggers import PermanentTrigger, refuse

KEY_TRIGGERS = [
    PermanentTrigger(
        name="key_identity_immutable",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        condition=pgtrigger.Condition(
            "ROW(OLD.id, OLD.partner_id, OLD.prefix, OLD.digest, OLD.created_at)"
            " IS DISTINCT FROM ROW(NEW.id, NEW.partner_id, NEW.prefix, NEW.digest, NEW.created_at)"
        ),
        func=refuse("The identity of an API key does not change."),
    ),
    PermanentTrigger(
        name="revocation_stays",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        condition=pgtrigger.Condition("OLD.revoked_at IS DISTINCT FROM NEW.revoked_at AND OLD.revoked_at IS NOT NULL"),
        func=refuse("A revoked API key stays revoked."),
    ),
    PermanentTrigger(
        name="expiry_comes_no_later",
        when=pgtrigger.Before,
        operation=pgtrigger.Update,
        # A null never expires.
        condition=pgtrigger.Condition("coalesce(NEW.expires_at, 'infinity') > coalesce(OLD.expires_at, 'infinity')"),
        func=refuse("An API key expires no later than it was to."),
    ),
]
