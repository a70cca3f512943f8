"""A hook of MkDocs: links from pages to files beside docs/ lead to the repository, or are text if it has no address."""

import posixpath
import re


def on_page_markdown(markdown: str, *, page, config, files) -> str:
    folder = posixpath.dirname(f"docs/{page.file.src_uri}")

    def moved(link: re.Match) -> str:
        path = posixpath.normpath(posixpath.join(folder, link["target"]))
        if "://" in link["target"] or path.startswith("docs/"):
            return link[0]
        return f"[{link['text']}]({config.repo_url}/blob/HEAD/{path})" if config.repo_url else link["text"]

    return re.sub(r"\[(?P<text>[^\]]*)\]\((?P<target>\.\./[^)\s]*)\)", moved, markdown)
