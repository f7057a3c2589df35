"""What is made of a paper's rows: the page, the sections of docs/fidelity.md, the figures alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from protolearn.export.model_file import write_bytes
from reproduction.report import Block, markdown, page_body, provenance, write_section
from reproduction.reproduce import Paper, Rows, Table


def quick_note(paper: Paper, tables: Sequence[Table] = ()) -> str:
    """What a quick run leaves out of the experiments that some tables show; of all without tables."""
    parts = []
    for experiment, _ in paper.chosen([table.number for table in tables]):
        whole, small = experiment.protocol, experiment.small()
        said = []
        if len(small.datasets) < len(experiment.datasets) or len(small.datasets) > 1:
            said.append(f"{len(small.datasets)} of {len(experiment.datasets)} data sets")
        if small.repeats < experiment.repeats:
            said.append(f"{small.repeats} of {experiment.repeats} runs")
        if whole.folds:
            said.append(f"the first {small.protocol.rows_a_repeat} of {whole.folds} folds")
        settings, few = (math.prod(map(len, protocol.grid.values())) for protocol in (whole, small.protocol))
        if few < settings:
            said.append(f"{few} of {settings} settings")
        if whole.epochs != small.protocol.epochs:
            said.append(f"{small.protocol.epochs} of {whole.epochs} epochs")
        if said:
            parts.append(f"{experiment.name}: {', '.join(said)}")
    if not parts:
        return ""
    return f"A quick run ({'; '.join(parts)}): it shows which way the figures point, and does not reproduce them."


Shown = Sequence[tuple[Table, Sequence[Block]]]


def write_page(folder: Path, paper: Paper, rows: Rows, shown: Shown, command: str) -> Path:
    """Write the tables as one HTML file; returns its path."""
    from protolearn.report.page import Section, page, paragraph

    lead = paragraph(paper.about(rows), "lead")
    if rows.quick:
        lead += paragraph(quick_note(paper, [table for table, _ in shown]), "lead")
    lead += "".join(paragraph(failure) for failure in rows.failures())
    sections = [
        Section(f"table-{table.number}", table.heading, page_body(blocks, table.number))
        for table, blocks in shown
        if blocks
    ]
    path = folder / f"{paper.name}.html"
    whole = page(paper.title, lead, sections, footer=provenance(command).replace("`", ""))
    write_bytes(path, whole.encode("utf-8", "xmlcharrefreplace"))
    return path


def write_section_of(
    path: Path, paper: Paper, rows: Rows, shown: Shown, command: Callable[[Sequence[Table]], str]
) -> list[str]:
    """Replace the sections of these tables in a Markdown file; returns their names.

    command : what the command line was, for the tables of one section
    """
    figures = path.parent / "figures"
    shared = [(table, blocks) for table, blocks in shown if blocks and not table.section]
    written = []
    for table, blocks in shown:
        if blocks and table.section:
            note = [quick_note(paper, [table])] if rows.quick else []
            parts = [
                f"## {paper.short}, {table.heading}",
                *note,
                markdown(blocks, figures),
                provenance(command([table])),
            ]
            write_section(path, table.section, "\n\n".join(filter(None, parts)))
            written.append(table.section)
    if shared:
        tables = [table for table, _ in shared]
        parts = [f"## {paper.title}", paper.about(rows), *([quick_note(paper, tables)] if rows.quick else [])]
        for table, blocks in shared:
            parts += [f"### {table.heading}", markdown(blocks, figures)]
        write_section(path, paper.name, "\n\n".join([*filter(None, parts), provenance(command(tables))]))
        written.append(paper.name)
    return written


def write_figures(path: Path, rows: Rows) -> None:
    """The figures alone, one row a fold in a fixed order: what another statistic needs, small enough to keep."""
    lines = ["experiment,dataset,method,repeat,fold,value"]
    for experiment, found in rows.of.items():
        keyed = sorted((r["dataset"], r["method"], r["repeat"], r["fold"], f"{r['value']:.6g}") for r in found)
        lines += [
            ",".join(f'"{cell}"' if "," in str(cell) else str(cell) for cell in (experiment, *key)) for key in keyed
        ]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, ("\n".join(lines) + "\n").encode())
