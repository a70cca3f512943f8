"""Commands, called as a user calls them."""

import re

from click.testing import Result
from typer.testing import CliRunner

from spacy_ssvm.cli.app import ssvm


def call(*arguments: object) -> Result:
    """The result of `spacy ssvm …`, in lines so long that no message is broken."""
    return CliRunner().invoke(ssvm, list(map(str, arguments)), env={"COLUMNS": "1000"})


def plain(result: Result) -> str:
    """What a command has printed, without colours and in one line."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", result.output).split())


def said(*arguments: object) -> str:
    """The same of a command that has to succeed."""
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return plain(result)


def refusal(*arguments: object) -> str:
    """The same of one that has to fail with a message."""
    result = call(*arguments)
    assert result.exit_code == 1 and isinstance(result.exception, SystemExit), result.output
    return plain(result)
