"""Fitted models outside this process: model files, and code for other places."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protolearn.export.c import CExport, export_c
    from protolearn.export.js import export_js, module_source
    from protolearn.export.onnx import to_onnx
    from protolearn.export.python import export_python, python_source

__all__ = [
    "CExport",
    "export_c",
    "export_js",
    "export_python",
    "module_source",
    "python_source",
    "to_onnx",
]

_HOMES = {
    "CExport": "c",
    "export_c": "c",
    "export_js": "js",
    "export_python": "python",
    "module_source": "js",
    "python_source": "python",
    "to_onnx": "onnx",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: loading a model file needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'protolearn.export' has no attribute {name!r}")
    return getattr(import_module(f"protolearn.export.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
