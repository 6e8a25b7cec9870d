"""Who decides about calls, put together."""

from __future__ import annotations

from pilothouse.authz.authorizer import PersonAuthorizer
from pilothouse.authz.permissions import PersonPermissions
from pilothouse.authz.policy_file import new_policy, parse_policy
from pilothouse.authz.protected import Protected
from pilothouse.settings.json_file import JsonFile
from pilothouse.wiring.foundation import Foundation


class Authority:
    """The person's rules and permissions, what is protected, and who decides by them."""

    def __init__(self, base: Foundation) -> None:
        self.file = JsonFile(
            base.home.policy_file,
            parse_policy,
            new_policy,
            backup=base.home.cache / "last-good-policy.json",
        )
        self.permissions = PersonPermissions(self.file, base.opened.store)
        self.guard = Protected(base.home.path)
        self.authorizer = PersonAuthorizer(self.permissions.policy, self.permissions, self.guard)
