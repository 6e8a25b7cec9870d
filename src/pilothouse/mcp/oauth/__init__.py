"""The OAuth client: finds where to sign in, gets tokens, renews them, and gives them to their one server only."""
