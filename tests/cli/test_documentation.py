"""docs/commands.md shows what the commands print.

PROTOLEARN_WRITE_DOCS=1 puts what they print now into the page, instead of comparing.
"""

import os
import re
import shlex
from pathlib import Path

from protolearn.cli import training
from shop import masked, run

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)


def shown(command, capsys):
    """What a command prints on both streams, the first lines of it after `| head`."""
    words = shlex.split(command)
    head = int(words[words.index("|") + 2].removeprefix("-")) if "|" in words else None
    run(*words[1 : words.index("|") if "|" in words else None])
    captured = capsys.readouterr()
    return captured.err + "".join(captured.out.splitlines(keepends=True)[:head])


def test_the_page_shows_what_the_commands_print(capsys, monkeypatch):
    # However slow the machine, only the candidates are printed that are the best so far.
    monkeypatch.setattr(training, "_SILENCE", float("inf"))
    page = PAGE.read_text()
    parts = []
    end = 0
    for block in BLOCK.finditer(page):
        parts.append(page[end : block.start()])
        end = block.end()
        kind, text = block.groups()
        if kind == "python":
            exec(text, {})
            capsys.readouterr()
            parts.append(block[0])
            continue
        printed = ""
        for command in re.findall(r"(?m)^\$ (.*)$", text):
            printed += f"$ {command}\n{shown(command, capsys)}"
        parts.append(f"```console\n{printed}```")
        if "PROTOLEARN_WRITE_DOCS" not in os.environ:
            assert masked(text) == masked(printed)
    if "PROTOLEARN_WRITE_DOCS" in os.environ:
        PAGE.write_text("".join(parts) + page[end:])
    assert len(parts) > 15
