"""The recommender of projects/recommender, as an annotation tool calls it."""

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import spacy

from .pipeline.components import learnt

SCRIPT = Path(__file__).parents[1] / "projects" / "recommender" / "serve.py"
INTERFACE = """<View><Labels name="kinds" toName="body"><Label value="PER"/><Label value="GPE"/></Labels>
<Text name="body" value="$passage"/></View>"""


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """The address of a recommender that serves a small model, and where it saves."""
    folder = tmp_path_factory.mktemp("recommender")
    learnt("ssvm_ner").to_disk(folder / "model")
    command = [sys.executable, str(SCRIPT), str(folder / "model"), str(folder / "corrected"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said.startswith("Serving ssvm_ner on http://127.0.0.1:")
            yield said.split()[-1], folder / "corrected"
        finally:
            process.terminate()


def ask(url, path, request=None):
    """The answer to a request; without one, to GET."""
    body = None if request is None else json.dumps(request).encode()
    headers = {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url + path, body, headers), timeout=60) as answer:
        return json.load(answer)


def predict(url, *texts):
    tasks = [{"id": k, "data": {"passage": text}} for k, text in enumerate(texts)]
    return ask(url, "/predict", {"tasks": tasks, "project": "1.2", "label_config": INTERFACE, "params": {}})["results"]


def values(prediction):
    return [tuple(item["value"][key] for key in ("start", "end", "text", "labels")) for item in prediction["result"]]


def test_predict_correct_predict(url):
    url, output = url
    assert ask(url, "/health") == {"status": "UP", "model_class": "SsvmNer"}
    version = ask(url, "/setup", {"project": "1.2", "schema": INTERFACE, "hostname": "", "access_token": ""})
    text, other = "Grumpf Wug met Anna in Berlin .", "New York calls Tom Berg Junior !"
    marked = [("Grumpf Wug", "PER"), ("Anna", "PER"), ("Berlin", "GPE")]
    expected = [(text.index(name), text.index(name) + len(name), name, [label]) for name, label in marked]
    before, unchanged = predict(url, text, other)
    assert values(before) != expected and before["score"] >= 0.0
    assert before["model_version"] == version["model_version"]
    assert values(unchanged) == [(0, 8, "New York", ["GPE"]), (15, 30, "Tom Berg Junior", ["PER"])]
    assert all(
        (item["from_name"], item["to_name"], item["type"]) == ("kinds", "body", "labels")
        for item in unchanged["result"]
    )
    result = [{"type": "labels", "value": dict(zip(("start", "end", "text", "labels"), value))} for value in expected]
    annotated = {"task": {"data": {"passage": text}}, "annotation": {"result": result}}
    assert ask(url, "/webhook", {"action": "ANNOTATION_CREATED", **annotated})["status"] == "ok"
    after, same = predict(url, text, other)
    assert values(after) == expected and values(same) == values(unchanged)
    assert after["model_version"] != before["model_version"]
    ask(url, "/webhook", {"action": "START_TRAINING", "project": {}})
    assert [(entity.text, entity.label_) for entity in spacy.load(output)(text).ents] == marked


@pytest.mark.parametrize(
    "path, request_, status, said",
    [
        ("/train", {}, 404, "there is no /train here"),
        ("/predict", {"tasks": [{}]}, 400, "data"),
        ("/setup", {"schema": "<View/>"}, 400, "needs <Labels> and <Text>"),
    ],
)
def test_bad_requests_are_answered(url, path, request_, status, said):
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(url[0], path, request_)
    assert caught.value.code == status and said in json.load(caught.value)["error"]
    assert ask(url[0], "/health")["status"] == "UP"


def test_what_is_no_whole_token_is_refused(url):
    ask(url[0], "/setup", {"schema": INTERFACE})
    result = [{"type": "labels", "value": {"start": 0, "end": 3, "labels": ["PER"]}}]
    request = {
        "action": "ANNOTATION_CREATED",
        "task": {"data": {"passage": "Annabel left"}},
        "annotation": {"result": result},
    }
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask(url[0], "/webhook", request)
    assert "'Ann' is not made of whole tokens, which are ['Annabel', 'left']" in json.load(caught.value)["error"]
