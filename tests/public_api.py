"""The public names of the package with their signatures, as text: `tests/public_api.txt`.

`python tests/public_api.py` writes it anew. Public is what the reference lists: functions, what our
own code gives to classes, attributes of types that only come back, and the commands.
"""

import inspect
import re
from pathlib import Path
from pkgutil import resolve_name

import typer

FILE = Path(__file__).with_suffix(".txt")
REFERENCE = Path(__file__).parents[1] / "docs" / "reference.md"


def public_api() -> str:
    lines = {line for place in public_places() for line in lines_of(place)}
    return "\n".join([*sorted(lines), *sorted(lines_of_commands())]) + "\n"


def public_places():
    """Yield every name in the reference."""
    tables = re.findall(r"currentmodule:: (\S+)\n(.*?)```", REFERENCE.read_text(), re.DOTALL)
    for home, table in tables:
        for name in re.findall(r"^   ([\w.]+)$", table, re.MULTILINE):
            yield f"{home}.{name}"


def lines_of(place: str):
    value = resolve_name(place)
    if not inspect.isclass(value):
        yield f"{place}{signature(value)}"
        return
    is_made_by_users = hasattr(value, "get_params") or "Parameters\n" in value.__doc__
    yield f"{place}{signature(value)}" if is_made_by_users else place
    only_comes_back = place.count(".") > 1 and not is_made_by_users
    # What makes an estimator stands in its signature.
    declared = set() if hasattr(value, "get_params") else fields(value)
    facts = declared | attributes(value.__doc__)
    for name in facts | (set() if only_comes_back else members(value)):
        is_method = name not in facts and callable(getattr(value, name))
        yield f"{place}.{name}{signature(getattr(value, name)) if is_method else ''}"


def own_classes(value: type) -> list[type]:
    return [one for one in value.__mro__ if one.__module__.startswith("thriftwood")]


def fields(value: type) -> set[str]:
    """Return what the dataclasses that it is made of declare."""
    given = [name for one in own_classes(value) for name in one.__annotations__]
    return {name for name in given if name[0] != "_" and (name == "X" or not name.isupper())}


def attributes(docstring: str) -> set[str]:
    """Return the names below `Attributes`, several of which may share a line."""
    found = re.search(r"^( *)Attributes\n *-+\n(.*)", docstring, re.DOTALL | re.MULTILINE)
    if not found:
        return set()
    lines = re.findall(rf"^{found[1]}([a-z]\w*(?:, \w+)*)(?: : .*)?$", found[2], re.MULTILINE)
    return {name for line in lines for name in line.split(", ")}


def members(value: type) -> set[str]:
    """Return its methods and properties, of our own code."""
    given = {name for one in own_classes(value) for name, own in vars(one).items() if is_ours(own)}
    return {name for name in given if name[0] != "_"}


def is_ours(member: object) -> bool:
    function = member
    # Of a class method, a property, a cached one, and a method that some models do not have.
    for inner in ("__func__", "fget", "func", "fn"):
        function = getattr(function, inner, function)
    return inspect.isfunction(function) and function.__module__.startswith("thriftwood")


def signature(value) -> str:
    """Return the parameters of a callable, with defaults and without types."""
    given = inspect.signature(value)
    plain = [without_type(one) for one in given.parameters.values()]
    return str(given.replace(parameters=plain, return_annotation=given.empty))


def without_type(parameter: inspect.Parameter) -> inspect.Parameter:
    default = parameter.default
    if inspect.isfunction(default):  # whose text has an address in memory
        default = default.__name__
    return parameter.replace(annotation=parameter.empty, default=default)


def lines_of_commands():
    """Yield every command with each of its arguments and options."""
    from thriftwood.cli.app import app

    for name, command in typer.main.get_command(app).commands.items():
        for one in command.params:
            yield f"$ thriftwood {name} {'/'.join([*one.opts, *one.secondary_opts])}"


if __name__ == "__main__":
    FILE.write_text(public_api())
