"""The report in a browser: it fits into 400 pixels, and its mistakes are chosen by kind, by text, by keyboard."""

import pytest
from spacy.tokens import Doc, DocBin

pytest.importorskip("playwright", reason="Playwright is not installed")
from playwright.sync_api import expect

from ..browser import browser as browser
from ..browser import in_browser
from ..pipeline.toy import parse, trained
from .calling import said

pytestmark = in_browser
WORDS = ["Dogs", "eat", "<b>ham</b>", "pneumonoultramicroscopicsilicovolcanoconiosis" * 3, "שלום", *["eggs"] * 20]


def report(folder, nlp, docs):
    nlp.to_disk(folder / "model")
    DocBin(docs=docs).to_disk(folder / "wrong.spacy")
    said("report", folder / "model", folder / "wrong.spacy", folder / "page.html", "--train", folder / "wrong.spacy")
    return f"file://{folder / 'page.html'}"


def opened(browser, address, width, scheme="light"):
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if request.url != address else None)
    page.goto(address)
    return page, errors


@pytest.mark.parametrize("factory", ["ssvm_tagger", "ssvm_ner", "ssvm_parser"])
def test_it_fits_into_400_pixels_with_all_unfolded(browser, factory, tmp_path):
    nlp = trained(factory)
    n = len(WORDS)
    gold = Doc(
        nlp.vocab,
        words=WORDS,
        tags=[f"a-label-of-{k}" * 3 for k in range(n)],
        ents=[f"B-an-entity-of-{k}" * 3 for k in range(n)],
        heads=[0] * n,
        deps=["ROOT", *[f"an-arc-of-{k}" for k in range(1, n)]],
    )
    address = report(tmp_path, nlp, [gold])
    for scheme, background in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(21, 24, 28)")):
        page, errors = opened(browser, address, 400, scheme)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == background
        page.close()
        assert not errors


def test_mistakes_are_chosen(browser, tmp_path):
    nlp = trained("ssvm_tagger")
    docs = [
        Doc(nlp.vocab, words=["Dogs", "eat", "ham"], tags=["NOUN", "VERB", "X"]),
        Doc(nlp.vocab, words=["Eat", "blue", "ham"], tags=["VERB", "ADJ", "X"]),
        Doc(nlp.vocab, words=["The", "cat", "sleeps"], tags=["DET", "NOUN", "Y"]),
        Doc(nlp.vocab, words=["The", "cat", "sleeps"], tags=["DET", "NOUN", "VERB"]),
    ]
    page, errors = opened(browser, report(tmp_path, nlp, docs), 1000)
    shown = page.locator(".mistakes > details:visible")
    expect(shown).to_have_count(3)
    expect(page.locator("output")).to_have_text("3 of 3 shown")
    page.get_by_label("Kind").select_option(label="X → NOUN (2)")
    expect(shown).to_have_count(2)
    page.get_by_label("Text").fill("BLUE")
    expect(shown).to_have_count(1)
    # A cell of the heat map, by keyboard.
    button = page.get_by_role("button", name="1 times VERB for Y: show them")
    button.focus()
    page.keyboard.press("Enter")
    expect(shown).to_have_count(1)
    expect(shown).to_contain_text("sleeps")
    expect(page.get_by_label("Kind")).to_be_focused()
    shown.locator("> summary").focus()
    page.keyboard.press("Enter")
    expect(shown.locator("li")).to_have_text("sleeps: Y → VERB")
    expect(shown.locator("figure").first).to_be_visible()
    page.close()
    assert not errors


def test_without_scripts_all_is_there(browser, tmp_path):
    nlp = trained("ssvm_parser")
    address = report(tmp_path, nlp, [parse(nlp, "The cat sleeps", "amod:2 nsubj:3 ROOT:3")])
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address)
    page.locator(".mistakes > details > summary").click()
    expect(page.locator(".mistakes svg").first).to_be_visible()
    expect(page.locator(".filter")).to_be_hidden()
    context.close()
