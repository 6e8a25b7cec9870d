"""The ways to a server: each carries JSON-RPC messages there and back, and nothing else."""
