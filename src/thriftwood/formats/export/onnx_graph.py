"""A few lines around ONNX's helpers: add an operation, get the name of its result."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.support.libraries import library

# The tree operation is of this domain and version.
TREES = "ai.onnx.ml"
TREES_VERSION = 5


class Graph:
    """Operations and constants, in the order in which they were added."""

    def __init__(self) -> None:
        self.onnx = library("onnx", "onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operation: str, *inputs: str, name: str = "", **options: Any) -> str:
        """Add an operation with one result; return the name of that."""
        name = name or f"{operation.lower()}_{len(self.nodes)}"
        domain = TREES if operation == "TreeEnsemble" else ""
        node = self.onnx.helper.make_node(operation, inputs, [name], name, domain=domain, **options)
        self.nodes.append(node)
        return name

    def constant(self, values: NDArray[Any]) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.tensor(values, name))
        return name

    def tensor(self, values: NDArray[Any], name: str = "") -> Any:
        """Return an array as ONNX holds it."""
        return self.onnx.numpy_helper.from_array(np.ascontiguousarray(values), name)

    def cast(self, name: str, dtype: type) -> str:
        return self.add("Cast", name, to=self.type_of(np.dtype(dtype)))

    def type_of(self, dtype: np.dtype[Any]) -> int:
        """Return ONNX's number for a type of NumPy."""
        number: int = self.onnx.helper.np_dtype_to_tensor_dtype(dtype)
        return number
