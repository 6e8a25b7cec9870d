"""The agent: asks the model, executes what it asks for, until the answer stands."""
