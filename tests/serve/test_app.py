"""The interface over HTTP: what it answers, and whom."""

import json

import pytest

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="fastapi's client needs httpx")
from fastapi.testclient import TestClient

from spacy_ssvm.serve import app as pages
from spacy_ssvm.serve.running import _HEADERS, MAX_BODY, guarded

from .pipelines import TEXT, TEXTS, lesson

TOKEN, PORT = "secret-token", 8080
HOST = f"127.0.0.1:{PORT}"
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def client_of(session):
    app = guarded(pages.create_app(session), TOKEN, PORT)
    client = TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False)
    client.headers["Host"] = HOST
    return client


@pytest.fixture
def client(shared):
    return client_of(shared)


def at(path):
    return f"/{TOKEN}/{path}"


def correction(client, name="a-correction", component="ner"):
    document = client.post(at("api/texts"), json={"text": TEXT}).json()["document"]
    start, end, label, head = lesson(f"ssvm_{component}")
    return {
        "id": name, "document": document, "component": component, "start": start, "end": end, "label": label,
        "head": head,
    }  # fmt: skip


def test_see_ask_teach_undo(session):
    client = client_of(session)
    state = client.get(at("api/state")).json()
    assert [component["kind"] for component in state["components"]][-1] == "entities" and state["n_texts"] == len(TEXTS)
    body = correction(client)
    question = {name: value for name, value in body.items() if name != "id"}
    assert client.post(at("api/explain"), json=question).json()["is_predicted"] is False
    learnt = client.post(at("api/corrections"), json=body)
    assert learnt.status_code == 200 and learnt.json()["number"] == 1
    assert client.post(at("api/corrections"), json=body).json() == learnt.json()
    assert client.post(at("api/explain"), json=question).json()["is_predicted"] is True
    analysis = client.get(at(f"api/texts/{body['document']}")).json()
    assert any(item["is_taught"] for item in analysis["layers"][-1]["items"])
    of_text = {"document": body["document"], "component": "ner"}
    assert len(client.post(at("api/best"), json={**of_text, "k": 3}).json()) == 3
    assert client.get(at("api/changes")).json()["changes"]
    suggested = client.get(at("api/suggestion"), params={"component": "ner", "after": body["document"]}).json()
    assert suggested["document"] != body["document"] and suggested["n_left"] == len(TEXTS) - 1
    assert client.post(at("api/accept"), json={"id": "accept-1", **of_text}).json()["number"] == 2
    assert client.post(at("api/export"), json={}).json()["n_texts"] == 1
    assert client.post(at("api/save"), json={}).json()["files"]
    for left in (1, 0):
        assert client.post(at("api/undo"), json={"id": f"undo-number-{left}"}).json()["number"] == left
    assert client.post(at("api/undo"), json={"id": "undo-number-x"}).json() == {"error": "there is nothing to undo"}
    assert client.get(at("api/texts"), params={"limit": 2}).json()["total"] == len(TEXTS)


@pytest.mark.parametrize("path", ["", "index.html", "app.js", "api.js", "draw.js", "style.css", "icon.svg"])
def test_the_page_is_there_and_needs_nothing_else(client, path):
    answer = client.get(at(path))
    assert answer.status_code == 200 and "http://" not in answer.text.replace("http://www.w3.org/", "")
    assert {name.decode() for name, _ in _HEADERS} <= set(answer.headers)


def test_the_description_names_all_paths(client):
    described = client.get(at("openapi.json")).json()
    assert described["servers"] == [{"url": "./"}] and len(described["paths"]) == 12
    for path, methods in described["paths"].items():
        for method in methods.values():
            assert method["description"] and "400" in method["responses"], path


OTHERS = ("http://evil.example", "http://localhost:8080", f"https://{HOST}", "null")


@pytest.mark.parametrize(
    "status, path, headers",
    [
        (200, at("api/state"), [("Host", HOST)]),
        (200, at("api/state"), [("Host", f"LOCALHOST:{PORT}"), ("Origin", f"http://localhost:{PORT}")]),
        *(
            (403, at("api/state"), [("Host", host)])
            for host in ("evil.example:8080", "127.0.0.1", "127.0.0.1.evil:8080")
        ),
        (403, at("api/state"), [("Host", HOST), ("Host", "evil.example")]),
        *((403, at("api/state"), [("Host", HOST), ("Origin", origin)]) for origin in OTHERS),
        *((403, path, [("Host", HOST)]) for path in ("/api/state", "/", "/secret-toke/api/state", "/secret-token")),
        (403, f"/api/state?token={TOKEN}", [("Host", HOST)]),
    ],
)
def test_others_are_refused(client, status, path, headers):
    del client.headers["Host"]
    answer = client.request("GET", path, headers=headers)
    assert answer.status_code == status and (status == 200 or answer.json()["error"])


@pytest.mark.parametrize(
    "status, headers, body",
    [
        (415, {"Content-Type": "text/plain"}, b"{}"),
        (415, {"Content-Type": "application/x-www-form-urlencoded"}, b"{}"),
        (413, {"Content-Type": "application/json", "Content-Length": str(MAX_BODY + 1)}, b"{}"),
        (411, {"Content-Type": "application/json", "Content-Length": "-1"}, b"{}"),
        (422, {"Content-Type": "application/json"}, b"{"),
        (422, {"Content-Type": "application/json"}, b'{"text": 7}'),
        (422, {"Content-Type": "application/json"}, b'{"text": "\\ud800"}'),
        (422, {"Content-Type": "application/json"}, b'{"text": "a", "more": 1}'),
        (400, {"Content-Type": "application/json"}, b'{"text": "  "}'),
    ],
)
def test_bad_bodies_are_refused(client, status, headers, body):
    answer = client.post(at("api/texts"), content=body, headers=headers)
    assert answer.status_code == status and answer.json()["error"]


def test_unknown_texts(client):
    assert client.get(at(f"api/texts/{'0' * 16}")).status_code == 404
    assert client.get(at("api/texts/x")).status_code == 422
    assert client.get(at("api/suggestion"), params={"component": "x"}).json()["error"].startswith("there is no")
    assert client.get(at("nothing")).status_code == 404


def test_who_waits_too_long_is_told_so(session, monkeypatch):
    monkeypatch.setattr(pages, "WAITING", 0.01)
    alone = pages.OneAtATime(session)
    with pytest.raises(pages.Busy):
        alone(lambda _: alone(lambda found: found))
    assert alone(lambda found: found) is session


def test_a_full_disk_is_an_answer(session, monkeypatch):
    client = client_of(session)

    def full(*_):
        raise OSError("no space left on device")

    body = correction(client)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        answer = client.post(at("api/corrections"), json=body)
    assert answer.status_code == 507 and "no space left" in answer.json()["error"]
    assert client.post(at("api/corrections"), content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert session.state().n_corrections == 1
