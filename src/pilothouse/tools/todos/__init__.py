"""The agent's todos: their rules, the tool that keeps them, and what the model is reminded of."""
