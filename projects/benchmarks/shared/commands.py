"""The entry point of a part: python -m PART COMMAND …, where each module of the part with a `main` is a command."""

import ast
import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parents[1]


def find_commands(part: str) -> dict[str, str]:
    """The commands of a part, each with the first line of its docstring, found without importing what they need."""
    modules = {path.stem: ast.parse(path.read_text("utf8")) for path in sorted((FOLDER / part).glob("*.py"))}
    return {
        name: (ast.get_docstring(module) or "").partition("\n")[0]
        for name, module in modules.items()
        if any(isinstance(statement, ast.FunctionDef) and statement.name == "main" for statement in module.body)
    }


def call(part: str) -> None:
    """Run the command that the arguments of this process name; without one, list all."""
    commands = find_commands(part)
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in commands:
        sys.argv = [f"python -m {part} {name}", *arguments]
        import_module(f"{part}.{name}").main()
        return
    print(f"usage: python -m {part} COMMAND …, or python -m {part} COMMAND --help\n")
    for command, summary in commands.items():
        print(f"  {command:15} {summary}")
    if name not in ("-h", "--help"):
        sys.exit(f"\n{part} has no command {name}")
