"""JSON schemas that others wrote, and what models, people and servers give for them."""
