"""Making pictures, by a provider or a service of one's own."""
