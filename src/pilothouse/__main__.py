"""Makes `python -m pilothouse` the command."""

from pilothouse.cli.main import main

if __name__ == "__main__":
    main()
