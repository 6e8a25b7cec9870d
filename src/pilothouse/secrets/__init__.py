"""Where secrets are kept, and how they are kept out of everything else."""
