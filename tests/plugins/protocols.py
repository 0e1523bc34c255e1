"""The specifications of the hooks → koordpy_api/protocols.py. `python -m tests.plugins.protocols` writes it anew."""

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from koordpy.framework.declaration import SPEC_MODULES
from koordpy.framework.points import AWAITABLE_HOOKS

FILE = Path(__file__).parents[2] / "plugins/api/koordpy_api/protocols.py"
HEAD = '''"""A Protocol per hook, so that mypy can hold a plugin against the specifications.

    _: type[protocols.FilterPlugin] = MyPlugin

A hook that leaves arguments out is legal, but matches no Protocol: these show the full list.
Written by tests/plugins/protocols.py from the specifications in koordpy_api/hooks; change those.
"""
'''


def render() -> str:
    imports: set[str] = set()
    classes: list[str] = []
    for module in SPEC_MODULES:
        tree = ast.parse(inspect.getsource(module))
        imports.update(_imports(tree))
        classes.extend(
            _protocol(node) for node in tree.body if isinstance(node, ast.FunctionDef) and _is_spec(module, node)
        )
    text = "\n".join(
        [HEAD, "from collections.abc import Awaitable", "from typing import Protocol", *sorted(imports), *classes]
    )
    for arguments in (["check", "--select", "I,F401", "--fix"], ["format"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--quiet", "--stdin-filename", str(FILE), "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    return text


def _is_spec(module: ModuleType, node: ast.FunctionDef) -> bool:
    return hasattr(getattr(module, node.name), "koordpy_spec")


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield ast.unparse(node)


def _protocol(node: ast.FunctionDef) -> str:
    assert node.returns is not None
    name = "".join(part.capitalize() for part in node.name.split("_"))
    question = (ast.get_docstring(node) or "").partition("\n")[0]
    returns = ast.unparse(node.returns)
    arguments = ", ".join(["self", *filter(None, [ast.unparse(node.args)])])
    if node.name in AWAITABLE_HOOKS:
        returns = f"Awaitable[{returns}] | {returns}"
    return (
        f'class {name}Plugin(Protocol):\n    """{question}"""\n\n    def {node.name}({arguments}) -> {returns}: ...\n'
    )


if __name__ == "__main__":
    FILE.write_text(render())
