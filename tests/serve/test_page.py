"""The page in a browser: type, read, ask, correct, teach a new label, undo, suggest, export, save, load."""

import json
import subprocess
import sys

import pytest
import spacy
from spacy.tokens import DocBin

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("playwright", reason="Playwright is not installed")
from playwright.sync_api import expect

from spacy_ssvm.serve import app as pages
from spacy_ssvm.serve.session import opened

from ..browser import browser as browser
from ..browser import in_browser
from .pipelines import TEXTS
from .test_running import TOKEN, in_thread

pytestmark = [*in_browser, pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture
def served(model, tmp_path):
    with opened(spacy.load(model), tmp_path / "taught", TEXTS) as session, in_thread(pages.create_app(session)) as port:
        yield session, f"http://127.0.0.1:{port}/{TOKEN}/"


@pytest.fixture
def page(browser, served):
    found = browser.new_page()
    errors = []
    found.on("pageerror", lambda error: errors.append(str(error)))
    found.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    found.goto(served[1])
    found.wait_for_selector("#panel [data-word]")
    yield found
    found.close()
    assert not errors


def wait_until_said(page, text):
    expect(page.locator("body")).not_to_have_attribute("aria-busy", "true")
    expect(page.locator("#status")).to_contain_text(text)


def said(page):
    return page.locator("#status").inner_text()


def tab(page, name):
    page.get_by_role("tab", name=name).click()


def teach(page, label, head=None):
    page.locator("#label").fill(label)
    if head is not None:
        page.locator("#head").select_option(label=head)
    page.locator("#teach").click()
    wait_until_said(page, "Learnt")
    page.locator("#changes h3").wait_for()


def words(page):
    return page.locator("#panel [role=option]")


def test_see_ask_teach(page, served):
    session, _ = served
    page.locator("#new-text").fill("Anna met Grumpf Wug in Berlin .")
    page.get_by_role("button", name="Analyse", exact=True).click()
    wait_until_said(page, "Analysed")
    assert words(page).count() == 7 and f"of {len(TEXTS) + 1}" in page.locator("#place").inner_text()

    # Why?
    page.locator("#panel .entity", has_text="Anna").locator("[role=option]").click()
    page.locator("#answer li").first.wait_for()
    assert "Why Anna → PER" in page.locator("#answer h3").inner_text()

    # A span, by keyboard, with an old label.
    words(page).nth(2).focus()
    page.keyboard.press("Shift+ArrowRight")
    assert "Grumpf Wug" in page.locator("#selected").inner_text()
    teach(page, "PER")
    entity = page.locator("#panel .entity", has_text="Grumpf Wug")
    assert entity.locator(".tag").inner_text().startswith("PER")

    # A tag, and a head.
    tab(page, "Tags")
    words(page).nth(1).click()
    teach(page, "ADV")
    assert "ADV" in words(page).nth(1).inner_text()
    tab(page, "Trees")
    page.locator("#panel .node").nth(5).click()
    teach(page, "obj", "Grumpf")
    assert page.locator('#panel .arc[aria-label^="obj of Grumpf: Berlin"]').count() == 1

    # A label that is new; a selection that cuts a word.
    tab(page, "Entities")
    drag(page, 5)
    teach(page, "CITY")
    assert "The selection cut a word" in said(page)
    assert page.locator("#panel .entity", has_text="Berlin").locator(".tag").inner_text().startswith("CITY")
    page.get_by_role("button", name="Undo").click()
    wait_until_said(page, "Undone")
    assert page.locator("#panel .entity", has_text="CITY").count() == 0

    # On to what is suggested, to the files, and to a new process.
    page.get_by_role("button", name="Best analyses").click()
    expect(page.locator("#ranked li").first).to_be_visible()
    page.locator("#accept").click()
    wait_until_said(page, "Next: text")
    page.get_by_role("button", name="Suggest a text").click()
    wait_until_said(page, "Suggested")
    for name, expected in (("Export annotation", "Exported 1 texts"), ("Save pipeline", "Saved")):
        page.get_by_role("button", name=name).click()
        wait_until_said(page, expected)
    (doc,) = DocBin().from_disk(session.folder / "annotation.spacy").get_docs(session.nlp.vocab)
    assert doc[1].tag_ == "ADV" and doc[5].head.text == "Grumpf"
    found = read_by_another_process(session.folder / "pipeline", "Anna met Grumpf Wug in Berlin .")
    assert ["Grumpf Wug", "PER"] in found["entities"]
    assert found["tags"][1] == "ADV" and found["trees"][5] == ["Grumpf", "obj"]


def read_by_another_process(pipeline, text):
    """The annotation of a text by a saved pipeline that a process of its own loads."""
    program = """
import json, sys, spacy
doc = spacy.load(sys.argv[1])(sys.argv[2])
entities = [[entity.text, entity.label_] for entity in doc.ents]
trees = [[token.head.text, token.dep_] for token in doc]
print(json.dumps({"entities": entities, "tags": [token.tag_ for token in doc], "trees": trees}))
"""
    read = subprocess.run([sys.executable, "-c", program, pipeline, text], capture_output=True, text=True, check=True)
    return json.loads(read.stdout)


def drag(page, number):
    """Select a part of a word by the mouse."""
    box = words(page).nth(number).bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * 0.4, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, y, steps=4)
    page.mouse.up()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser, served, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page = browser.new_page(color_scheme=scheme)
    page.goto(served[1])
    for component in served[0].state().components:
        page.locator(f"#tab-{component.name}").click()
        page.locator("#panel [data-word]").first.click()
        page.wait_for_timeout(200)
        found = axe.Axe().run(page).response["violations"]
        serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
        assert not serious, [(fault["id"], [node["html"] for node in fault["nodes"]][:3]) for fault in serious]
    page.close()


def test_a_page_at_400_pixels_does_not_scroll_sideways(browser, served):
    page = browser.new_page(viewport={"width": 400, "height": 800})
    page.goto(served[1])
    for component in served[0].state().components:
        page.locator(f"#tab-{component.name}").click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.close()
