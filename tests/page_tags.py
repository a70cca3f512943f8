"""The tags of a page of HTML."""

from html.parser import HTMLParser

VOID = ("meta", "input")


class Tags(HTMLParser):
    """Checks that all tags are closed in order, and that names are unique and none refers to other files.

    Attributes:
        rows: the texts of the cells of each row of a table.
        summaries: the texts of what unfolds.
        n_scripts: of the page.
        links: to places of the page.
    """

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.summaries, self.ids, self.links, self.n_scripts = [], [], [], [], [], 0
        self.feed(text)
        assert not self.open and len(self.ids) == len(set(self.ids))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        links = [values[key] for key in ("src", "href", "xlink:href") if key in values]
        assert all(link[:1] == "#" for link in links)
        self.links += links
        assert not [key for key in values if key.startswith("on")]
        self.ids += [values["id"]] if "id" in values else []
        self.n_scripts += tag == "script"
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif tag == "summary":
            self.summaries.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data
        if "summary" in self.open:
            self.summaries[-1] += data
