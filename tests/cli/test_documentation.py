"""docs/commands.md shows what the commands print.

PROTOLEARN_WRITE_DOCS=1 puts what they print now into the page, instead of comparing.
"""

import os
import re
import shlex
from pathlib import Path

from shop import run

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
BLOCK = re.compile(r"```(python|console)\n(.*?)```", re.DOTALL)


def masked(text):
    """Without what differs from machine to machine: times, and what follows from them."""
    text = re.sub(r"(?m)^(.*\d\.\d{3} +\d+ +\d+\.\d) +\d+\.\d\d$", r"\1 TIME", text)
    text = re.sub(r"\d+(\.\d)? x (faster|slower)", "N x faster", text)
    return "\n".join(line.rstrip() for line in text.replace(" us each", "").splitlines()).strip()


def shown(command, capsys):
    """What a command prints on both streams, the first lines of it after `| head`."""
    words = shlex.split(command)
    head = int(words[words.index("|") + 2].removeprefix("-")) if "|" in words else None
    run(*words[1 : words.index("|") if "|" in words else None])
    captured = capsys.readouterr()
    return captured.err + "".join(captured.out.splitlines(keepends=True)[:head])


def test_the_page_shows_what_the_commands_print(capsys):
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
