"""The recommender of projects/recommender, as an annotation tool calls it."""

import importlib.util
import json
import signal
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
import spacy

from ..corpora import ROOT
from ..pipeline.components import learnt

SCRIPT = ROOT / "projects" / "recommender" / "serve.py"
INTERFACE = """<View><Labels name="kinds" toName="body"><Label value="PER"/><Label value="GPE"/></Labels>
<Text name="body" value="$passage"/></View>"""


@contextmanager
def serving(model, output):
    """The process of a recommender, and its address."""
    command = [sys.executable, str(SCRIPT), str(model), str(output), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said.startswith("Serving ssvm_ner on http://127.0.0.1:")
            yield process, said.split()[-1]
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("recommender") / "model"
    learnt("ssvm_ner").to_disk(path)
    return path


@pytest.fixture(scope="module")
def url(model):
    """The address of a recommender that serves a small model, and where it saves."""
    output = model.with_name("corrected")
    with serving(model, output) as (_, address):
        yield address, output


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


def exchange(url, *lines, body=b""):
    """The status that a request over a socket of its own is answered with, 0 if the connection is closed instead."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode() + body)
        answer = connection.makefile("rb").read()
    return int(answer.split()[1]) if answer else 0


JSON = "Content-Type: application/json"
OTHERS = ("http://evil.example", "http://localhost:8080", "https://{host}", "null")
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
LEARNT = ("Grumpf Wug slept .", [(0, 10, "Grumpf Wug", ["PER"])])


def annotation(text, entities):
    result = [{"type": "labels", "value": dict(zip(("start", "end", "text", "labels"), value))} for value in entities]
    return {"action": "ANNOTATION_CREATED", "task": {"data": {"text": text}}, "annotation": {"result": result}}


@pytest.mark.parametrize(
    "status, headers",
    [
        (200, ["Host: {host}", JSON]),
        (200, ["Host: localhost:{port}", f"{JSON}; charset=utf-8", "Origin: http://LOCALHOST:{port}"]),
        *((403, [*host, JSON]) for host in (["Host: evil.example:{port}"], ["Host: 127.0.0.1.evil.example:{port}"])),
        *((403, [*host, JSON]) for host in (["Host: localhost"], ["Host: {host}", "Host: evil.example"], [])),
        *((403, ["Host: {host}", f"Origin: {origin}", JSON]) for origin in OTHERS),
        (403, ["Host: {host}", "Origin: http://{host}", "Origin: http://evil.example", JSON]),
        *((415, ["Host: {host}", f"Content-Type: {kind}"]) for kind in ("text/plain", "text/plain; application/json")),
        *((415, ["Host: {host}", f"Content-Type: {kind}"]) for kind in FORMS),
        (415, ["Host: {host}"]),
    ],
)
def test_pages_of_other_origins_cannot_teach(url, status, headers):
    host = url[0].removeprefix("http://")
    given = [line.format(host=host, port=host.partition(":")[2]) for line in headers]
    body = json.dumps({"action": "TASKS_CREATED"}).encode()
    assert exchange(url[0], "POST /webhook HTTP/1.1", *given, f"Content-Length: {len(body)}", body=body) == status
    if status == 403:
        assert exchange(url[0], "GET /health HTTP/1.1", *given) == status


@pytest.mark.parametrize(
    "length, status",
    [([], 411), (["Content-Length: -1"], 411), (["Content-Length: two"], 411), (["Content-Length: 99999999999"], 413)],
)
def test_the_length_of_a_body_is_known_and_limited(url, length, status):
    host = url[0].removeprefix("http://")
    assert exchange(url[0], "POST /webhook HTTP/1.1", f"Host: {host}", JSON, *length) == status


def test_idle_connections_block_nobody(url):
    host, port = url[0].removeprefix("http://").split(":")
    begun = [
        b"",
        b"POST /predict HTTP/1.1\r\n",
        f"POST /predict HTTP/1.1\r\n{JSON}\r\nContent-Length: 9\r\n\r\n".encode(),
    ]
    idle = [socket.create_connection((host, int(port))) for _ in begun]
    for connection, sent in zip(idle, begun):
        connection.sendall(sent)
    try:
        assert ask(url[0], "/health")["status"] == "UP" and len(predict(url[0], "Anna slept .")) == 1
    finally:
        for connection in idle:
            connection.close()


@pytest.fixture
def script():
    spec = importlib.util.spec_from_file_location("serve", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_idle_connections_are_closed(script, tmp_path, monkeypatch):
    monkeypatch.setattr(script.Handler, "timeout", 0.1)
    with script.Server(script.Recommender(learnt("ssvm_ner"), "ssvm_ner", tmp_path / "out"), 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        assert exchange(address) == 0
        assert exchange(address, "POST /webhook HTTP/1.1", JSON, "Content-Length: 2", body=b"{") == 0
        assert ask(address, "/health")["status"] == "UP"
        server.shutdown()


@pytest.mark.parametrize("number, trains", [(signal.SIGTERM, True), (signal.SIGINT, False)])
def test_what_was_learnt_is_saved_at_the_end_unless_it_is_saved(model, tmp_path, number, trains):
    output = tmp_path / "new" / "corrected"
    with serving(model, output) as (process, address):
        assert ask(address, "/webhook", annotation(*LEARNT))["status"] == "ok"
        if trains:
            ask(address, "/webhook", {"action": "START_TRAINING"})
            saved = (output / "meta.json").stat()
        for _ in range(3):
            process.send_signal(number)
        assert process.wait(60) == 0
    assert not trains or (output / "meta.json").stat().st_ino == saved.st_ino
    assert [(entity.text, entity.label_) for entity in spacy.load(output)(LEARNT[0]).ents] == [("Grumpf Wug", "PER")]
    assert [path.name for path in output.parent.iterdir()] == ["corrected"]


def test_saving_replaces_the_earlier_pipeline_as_a_whole(script, tmp_path, monkeypatch):
    recommender = script.Recommender(learnt("ssvm_ner"), "ssvm_ner", tmp_path / "out")
    recommender.save()
    before = {path: path.read_bytes() for path in recommender.output.rglob("*") if path.is_file()}
    recommender.learn(*[LEARNT[0], annotation(*LEARNT)["annotation"]["result"]])
    to_disk = type(recommender.nlp).to_disk

    def full(nlp, path):
        to_disk(nlp, path)
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(recommender.nlp), "to_disk", full)
        with pytest.raises(OSError, match="no space left"):
            recommender.save()
    assert {path: path.read_bytes() for path in recommender.output.rglob("*") if path.is_file()} == before
    recommender.save()
    assert {entity.text for entity in spacy.load(recommender.output)(LEARNT[0]).ents} == {"Grumpf Wug"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_only_a_pipeline_is_replaced(script, model, tmp_path, monkeypatch, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(model), str(tmp_path), "--port", "0"])
    with pytest.raises(SystemExit) as ended:
        script.main()
    assert ended.value.code == 2 and "is no pipeline, and would be replaced" in capsys.readouterr().err
    assert (tmp_path / "notes.txt").read_text() == "mine"
