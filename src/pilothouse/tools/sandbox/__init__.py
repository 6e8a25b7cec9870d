"""What holds commands: a mount namespace, the kernel's own file rules, or nothing and a warning."""
