"""``python -m rocmatrix``: the command line without an installed console script."""

from rocmatrix.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
