"""The server as a process: what is killed or stopped has lost nothing, and idle connections block nobody."""

import asyncio
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import contextmanager
from http.client import HTTPException

import pytest
import spacy

pytest.importorskip("fastapi", reason="the extra serve is not installed")
pytest.importorskip("uvicorn", reason="the extra serve is not installed")
import uvicorn

from spacy_ssvm.cli import serve as command
from spacy_ssvm.serve import app as pages
from spacy_ssvm.serve import running
from spacy_ssvm.serve.lessons import JOURNAL
from spacy_ssvm.serve.session import opened

from ..cli.calling import refusal
from ..pipeline.components import learnt
from .pipelines import TEXTS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
TOKEN = "secret-token"


@contextmanager
def serving(model, folder, *options):
    """The process of a server, and its address."""
    arguments = ["ssvm", "serve", str(model), "--output", str(folder), "--port", "0", "--token", TOKEN, *options]
    command = [sys.executable, "-m", "spacy", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            said = process.stdout.readline()
            yield process, next(word for word in said.split() if word.startswith("http")).rstrip(",")
        finally:
            process.kill()


def ask(url, request=None, **headers):
    """The answer to a request; without one, to GET."""
    body = None if request is None else json.dumps(request).encode()
    sent = urllib.request.Request(url, body, {"Content-Type": "application/json", **headers})
    with urllib.request.urlopen(sent, timeout=60) as answer:
        return json.load(answer)


def correction(name, text, number):
    """The correction of an entity that no other one has."""
    return {"id": name, "document": text["document"], "component": "ner", "start": 0, "end": len(f"Wug{number}"),
            "label": "PER"}  # fmt: skip


def teach(url, name, number):
    text = ask(f"{url}api/texts", {"text": f"Wug{number} met Anna ."})
    return ask(f"{url}api/corrections", correction(name, text, number))


def names_in(folder):
    return [json.loads(line)["id"] for line in (folder / JOURNAL).read_text("utf8").splitlines()[1:]]


@pytest.fixture(scope="module")
def recogniser(tmp_path_factory):
    path = tmp_path_factory.mktemp("serving") / "model"
    nlp = learnt("ssvm_ner")
    nlp.rename_pipe("ssvm_ner", "ner")
    nlp.to_disk(path)
    return path


@pytest.mark.slow
def test_kill_loses_no_acknowledged_correction(recogniser, tmp_path):
    folder, numbers, acknowledged = tmp_path / "taught", iter(range(10_000)), []
    draw = random.Random(0)
    for _ in range(20):
        with serving(recogniser, folder) as (process, url):
            killer = threading.Timer(draw.uniform(0.0, 1.0), process.kill)
            try:
                while True:
                    number = next(numbers)
                    teach(url, f"correction-{number}", number)
                    acknowledged.append(f"correction-{number}")
                    if not killer.ident:
                        killer.start()
            except (OSError, ValueError, HTTPException):
                process.wait()
            killer.join()
    assert len(acknowledged) > 20
    written = names_in_whole(folder)
    assert set(acknowledged) <= set(written) and len(set(written)) == len(written)
    with opened(spacy.load(recogniser), folder) as session:
        assert session.state().n_corrections == len(written)


def names_in_whole(folder):
    """The names in the journal, without a torn last line."""
    lines = (folder / JOURNAL).read_bytes().split(b"\n")[:-1]
    return [json.loads(line)["id"] for line in lines[1:]]


@pytest.mark.slow
def test_eight_clients(recogniser, tmp_path):
    folder, n_clients, n_requests, failures = tmp_path / "taught", 8, 125, []
    with serving(recogniser, folder) as (_, url):

        def work(client):
            try:
                for number in range(n_requests):
                    name = f"client-{client}-{number}"
                    one = teach(url, name, client * n_requests + number)
                    ask(f"{url}api/state")
                    # Sent again, as by a client whose connection broke.
                    assert teach(url, name, client * n_requests + number) == one
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(client,)) for client in range(n_clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures and ask(f"{url}api/state")["n_corrections"] == n_clients * n_requests
    names = names_in(folder)
    assert len(names) == n_clients * n_requests == len(set(names))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_backend_that_is_stopped_saves(recogniser, tmp_path, number):
    folder = tmp_path / "new" / "taught"
    result = [{"type": "labels", "value": {"start": 0, "end": 10, "labels": ["PER"]}}]
    task = {"data": {"text": "Grumpf Wug slept ."}}
    with serving(recogniser, folder, "--label-studio") as (process, url):
        request = {"action": "ANNOTATION_CREATED", "task": task, "annotation": {"result": result}}
        assert ask(f"{url}/webhook", request, Authorization=f"Token {TOKEN}")["status"] == "ok"
        for _ in range(3):
            process.send_signal(number)
        assert process.wait(60) == 0
    found = spacy.load(folder / "pipeline")("Grumpf Wug slept .")
    assert [(entity.text, entity.label_) for entity in found.ents] == [("Grumpf Wug", "PER")]


@contextmanager
def in_thread(app):
    """A server in this process; the port."""
    with running.listen(0) as listening:
        port = listening.getsockname()[1]
        config = uvicorn.Config(
            running.guarded(app, TOKEN, port), http=running.Impatient, ws="none", lifespan="off", log_level="critical"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve(sockets=[listening])))
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield port
        finally:
            server.should_exit = True
            thread.join()


def test_idle_connections_block_nobody_and_are_closed(recogniser, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "PATIENCE", 0.2)
    with (
        opened(spacy.load(recogniser), tmp_path / "taught", TEXTS) as session,
        in_thread(pages.create_app(session)) as port,
    ):
        post = f"POST /{TOKEN}/api/texts HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        begun = [b"", b"GET / HTTP/1.1\r\n", f"{post}Content-Length: 9\r\n\r\n{{".encode()]
        idle = [socket.create_connection(("127.0.0.1", port), timeout=60) for _ in begun]
        for connection, sent in zip(idle, begun):
            connection.sendall(sent)
        assert ask(f"http://127.0.0.1:{port}/{TOKEN}/api/state")["n_texts"] == len(TEXTS)
        answers = []
        for connection in idle:
            with connection:
                answers.append(connection.makefile("rb").read())
        assert answers[:2] == [b"", b""] and answers[2].startswith(b"HTTP/1.1 408 ")


def test_what_cannot_be_served_is_explained(recogniser, tmp_path, monkeypatch):
    (tmp_path / "texts.txt").write_text("A text .\n", "utf8")
    assert "--host is for --label-studio" in refusal("serve", recogniser, "--host", "a")
    assert "letters, digits" in refusal("serve", recogniser, "--token", "a/b")
    assert "is the pipeline itself" in refusal("serve", recogniser, "--output", recogniser)
    with running.listen(0) as taken:
        port = str(taken.getsockname()[1])
        assert f"port {port} cannot be used" in refusal("serve", recogniser, "-o", tmp_path / "out", "--port", port)
    with opened(spacy.load(recogniser), tmp_path / "of-another"):
        pass
    learnt("ssvm_tagger").to_disk(tmp_path / "other")
    said = refusal("serve", tmp_path / "other", "-o", tmp_path / "of-another", "--port", "0")
    assert "is about another pipeline" in said
    assert "has no ssvm_ner" in refusal("serve", tmp_path / "other", "--label-studio")
    for module in [name for name in sys.modules if name.startswith("spacy_ssvm.serve.")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "fastapi", None)
    for name in ("app", "label_studio", "running"):
        monkeypatch.delattr(sys.modules["spacy_ssvm.serve"], name, raising=False)
    assert command.NEEDED.partition(":")[0] in refusal("serve", recogniser)
