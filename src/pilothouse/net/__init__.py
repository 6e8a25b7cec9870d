"""The only way out: everything that opens an HTTP connection to somewhere else goes through here."""
