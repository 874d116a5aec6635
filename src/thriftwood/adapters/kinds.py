"""Which library a model is of, without importing any."""


def is_a(model: object, library: str, name: str) -> bool:
    """Say whether the model's class, or one above it, is the library's of this name."""
    return any(
        kind.__name__ == name and kind.__module__.split(".")[0] == library
        for kind in type(model).__mro__
    )
