"""Commands and terminals: what the agent runs and types, beside the person who may type there too."""
