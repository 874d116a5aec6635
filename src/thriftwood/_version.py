"""The version of the package, in one place."""

__version__ = "2.0.0"
