"""Every link of the built site that stays on the site leads somewhere: `python .ci/site_links.py site`."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Called for each element."""
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken(site: Path) -> list[str]:
    """One line for each link that leads nowhere."""
    paths = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    pages = {path.resolve(): Page(path) for path in paths}
    found = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists():
                found.append(f"{path.relative_to(site.resolve())}: there is no {link}")
            elif anchor and target in pages and anchor not in pages[target].anchors:
                found.append(f"{path.relative_to(site.resolve())}: there is no place {link}")
    return found


if __name__ == "__main__":
    lines = broken(Path(sys.argv[1]))
    print("\n".join(sorted(set(lines))) or "All links of the site lead somewhere.")
    sys.exit(bool(lines))
