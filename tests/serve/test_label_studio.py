"""The backend of an annotation tool, as Label Studio calls it."""

import base64

import pytest
import spacy

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="fastapi's client needs httpx")
from fastapi.testclient import TestClient

from spacy_ssvm.serve.label_studio import create_backend
from spacy_ssvm.serve.running import guarded
from spacy_ssvm.serve.session import opened

from ..pipeline.components import learnt

INTERFACE = """<View><Labels name="kinds" toName="body"><Label value="PER"/><Label value="GPE"/></Labels>
<Text name="body" value="$passage"/></View>"""
TOKEN, HOST = "secret", "127.0.0.1:9090"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("studio") / "out"


@pytest.fixture(scope="module")
def client(folder):
    with opened(learnt("ssvm_ner"), folder) as session:
        app = guarded(create_backend(session, "ssvm_ner"), TOKEN, 9090, ["studio.example:9090"], is_in_header=True)
        with TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False) as found:
            found.headers["Authorization"] = f"Token {TOKEN}"
            yield found


def predict(client, *texts):
    tasks = [{"id": k, "data": {"passage": text}} for k, text in enumerate(texts)]
    request = {"tasks": tasks, "project": "1.2", "label_config": INTERFACE, "params": {}}
    return client.post("/predict", json=request).json()["results"]


def values(prediction):
    return [tuple(item["value"][key] for key in ("start", "end", "text", "labels")) for item in prediction["result"]]


def test_predict_correct_predict(client, folder):
    assert client.get("/health").json() == {"status": "UP", "model_class": "SsvmNer"} == client.get("/").json()
    version = client.post("/setup", json={"project": "1.2", "schema": INTERFACE, "hostname": ""}).json()
    text, other = "Grumpf Wug met Anna in Berlin .", "New York calls Tom Berg Junior !"
    marked = [("Grumpf Wug", "PER"), ("Anna", "PER"), ("Berlin", "GPE")]
    expected = [(text.index(name), text.index(name) + len(name), name, [label]) for name, label in marked]
    before, unchanged = predict(client, text, other)
    assert values(before) != expected and before["score"] >= 0.0
    assert before["model_version"] == version["model_version"]
    assert values(unchanged) == [(0, 8, "New York", ["GPE"]), (15, 30, "Tom Berg Junior", ["PER"])]
    assert all(
        (item["from_name"], item["to_name"], item["type"]) == ("kinds", "body", "labels")
        for item in unchanged["result"]
    )
    result = [{"type": "labels", "value": dict(zip(("start", "end", "text", "labels"), value))} for value in expected]
    annotated = {"task": {"data": {"passage": text}}, "annotation": {"result": result}}
    assert client.post("/webhook", json={"action": "ANNOTATION_CREATED", **annotated}).json()["status"] == "ok"
    after, same = predict(client, text, other)
    assert values(after) == expected and values(same) == values(unchanged)
    assert after["model_version"] != before["model_version"]
    client.post("/webhook", json={"action": "START_TRAINING", "project": {}})
    saved = spacy.load(folder / "pipeline")
    assert [(entity.text, entity.label_) for entity in saved(text).ents] == marked


@pytest.mark.parametrize(
    "path, request_, status, said",
    [
        ("/train", {}, 404, None),
        ("/predict", {"tasks": [{}]}, 400, "data"),
        ("/predict", {}, 400, "tasks"),
        ("/predict", {"tasks": 7}, 400, "TypeError"),
        ("/predict", [], 422, "dictionary"),
        ("/setup", {"schema": "<View/>"}, 400, "needs <Labels> and <Text>"),
        ("/setup", {"schema": "<View"}, 400, "cannot be read"),
        (
            "/webhook",
            {"action": "ANNOTATION_CREATED", "task": {"data": {"passage": "a", "text": "a"}}},
            400,
            "annotation",
        ),
    ],
)
def test_bad_requests_are_answered(client, path, request_, status, said):
    answer = client.post(path, json=request_)
    assert answer.status_code == status and (said is None or said in answer.json()["error"])
    assert client.get("/health").json()["status"] == "UP"


def test_what_is_no_whole_token_is_refused(client):
    client.post("/setup", json={"schema": INTERFACE})
    result = [{"type": "labels", "value": {"start": 0, "end": 3, "labels": ["PER"]}}]
    task = {"data": {"passage": "Annabel left"}}
    request = {"action": "ANNOTATION_CREATED", "task": task, "annotation": {"result": result}}
    said = client.post("/webhook", json=request).json()["error"]
    assert "'Ann' is not made of whole tokens, which are ['Annabel', 'left']" in said


BASIC = base64.b64encode(f"any:{TOKEN}".encode()).decode()


@pytest.mark.parametrize(
    "status, headers",
    [
        (200, {}),
        (200, {"Authorization": f"Bearer {TOKEN}"}),
        (200, {"Authorization": f"Basic {BASIC}"}),
        (200, {"Host": "studio.example:9090"}),
        (403, {"Host": "evil.example:9090"}),
        (403, {"Origin": "http://evil.example"}),
        *((401, {"Authorization": value}) for value in ("", "Token other", TOKEN, "Basic x", f"Digest {TOKEN}")),
        (415, {"Content-Type": "text/plain"}),
    ],
)
def test_who_may_teach(client, status, headers):
    body = b'{"action": "TASKS_CREATED"}'
    answer = client.post("/webhook", content=body, headers={"Content-Type": "application/json", **headers})
    assert answer.status_code == status
