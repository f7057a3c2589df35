"""`protolearn completion`: completion of commands and options for bash and zsh."""

from __future__ import annotations

import argparse

_SCRIPT = """\
_protolearn() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
    if (( COMP_CWORD == 1 )); then
        words="@COMMANDS@"
    else
        case "${COMP_WORDS[1]} $before" in
@CHOICES@
        *)
            case "${COMP_WORDS[1]}" in
@OPTIONS@
            esac
            [[ $word == -* ]] || words=
            ;;
        esac
@POSITIONALS@
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _protolearn protolearn
"""
_ZSH = "#compdef protolearn\nautoload -U +X bashcompinit && bashcompinit\n"


def add(commands: argparse._SubParsersAction) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "completion",
        help="completion for bash or zsh",
        description='Completion for your shell: put  eval "$(protolearn completion bash)"  into ~/.bashrc.',
    )
    command.add_argument("shell", choices=("bash", "zsh"))
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    print((_ZSH if options.shell == "zsh" else "") + script(), end="")
    return 0


def script() -> str:
    """The bash script, from the arguments of all commands."""
    from protolearn.cli import parser

    found = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    choices, options, positionals = [], [], []
    for name, command in found.choices.items():
        words = [text for action in command._actions for text in action.option_strings if text.startswith("--")]
        options.append(f'            {name}) words="{" ".join(words)}" ;;')
        for action in command._actions:
            if action.choices is None:
                continue
            listed = " ".join(map(str, action.choices))
            if action.option_strings:
                choices.append(f'        "{name} {action.option_strings[-1]}") words="{listed}" ;;')
            else:
                positionals.append(f'        [[ ${{COMP_WORDS[1]}} == {name} ]] && words="{listed}"')
    text = _SCRIPT.replace("@COMMANDS@", " ".join([*found.choices, "--version", "--help"]))
    for mark, lines in (("CHOICES", choices), ("OPTIONS", options), ("POSITIONALS", positionals)):
        text = text.replace(f"@{mark}@", "\n".join(lines))
    return text
