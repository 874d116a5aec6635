"""`python -m thriftwood`, for machines where the command is not on the path."""

from thriftwood.cli import main

if __name__ == "__main__":
    main()
