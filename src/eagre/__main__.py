"""``python -m eagre``."""

from eagre.cli.main import app

if __name__ == "__main__":
    app()
