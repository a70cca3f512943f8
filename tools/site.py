"""Hooks of MkDocs: links from pages to files beside docs/ lead to the repository, or are text if it has no address."""

import posixpath
import re


def on_page_markdown(markdown: str, *, page, config, files) -> str:
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def moved(link: re.Match) -> str:
        path = posixpath.normpath(posixpath.join(folder, link["target"]))
        if path.startswith("docs/"):
            return link[0]
        return f"[{link['text']}]({config.repo_url}/blob/HEAD/{path})" if config.repo_url else link["text"]

    return re.sub(r"\[(?P<text>[^\]]*)\]\((?P<target>\.\./[^)\s]*)\)", moved, markdown)


def on_page_content(html: str, *, page, config, files) -> str:
    """Options of commands, and the lines that name what has made a table, get classes for the style sheet."""
    return html.replace("<code>-", '<code class="option">-').replace("<p>Made by", '<p class="made-by">Made by')
