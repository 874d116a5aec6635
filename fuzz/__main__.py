"""`python -m fuzz`, which `make fuzz` runs."""

from fuzz.run import main

if __name__ == "__main__":
    main()
