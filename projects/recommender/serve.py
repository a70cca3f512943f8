"""A recommender of entities for annotation tools: python serve.py MODEL OUTPUT [--component NAME] [--port 9090].

The requests are those of a Label Studio ML backend. /predict answers with the entities of texts, and /webhook learns
each annotation at once, as a correction. "Start training" in the tool saves the corrected pipeline to OUTPUT, and so
does stopping the server, by SIGTERM or Ctrl-C. The server listens on this machine only. It refuses what pages of other
origins send: requests for another host, of another origin, or without a body in JSON.
"""

import argparse
import json
import shutil
import signal
import threading
import xml.etree.ElementTree as ElementTree
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

ADDRESS = "127.0.0.1"
TIMEOUT = 30.0
"""Seconds without a byte after which a connection is closed."""
MAX_BODY = 32 << 20
"""Bytes of a request."""
Answer = tuple[HTTPStatus, dict[str, Any]]


class Names(NamedTuple):
    """What the tool's labelling interface calls its labels, its text, and the field of a task with the text."""

    labels: str = "label"
    text: str = "text"
    field: str = "text"


def names_in(interface: str) -> Names:
    """The names in a labelling interface, which is XML with an element Labels and an element Text."""
    if not interface:
        return Names()
    tree = ElementTree.fromstring(interface)
    labels, text = tree.find(".//Labels"), tree.find(".//Text")
    if labels is None or text is None:
        raise ValueError("the labelling interface needs <Labels> and <Text>")
    return Names(labels.attrib["name"], labels.attrib["toName"], text.attrib["value"].lstrip("$"))


class Recommender:
    """A pipeline, whose component `name` recommends entities and learns from annotation; output: where it is saved.

    Whoever calls setup, predict, webhook or save holds `lock`.
    """

    def __init__(self, nlp: Language, name: str, output: Path) -> None:
        self.nlp, self.name, self.output = nlp, name, output
        self.pipe: Any = nlp.get_pipe(name)
        self.optimizer = nlp.resume_training()
        self.names = Names()
        self.n_learnt = self.n_saved = 0
        self.lock = threading.Lock()

    @property
    def version(self) -> str:
        """Another one after each annotation, so that the tool asks for new predictions."""
        return f"{self.nlp.meta['name'] or 'pipeline'}-{self.n_learnt}"

    def health(self) -> dict[str, Any]:
        return {"status": "UP", "model_class": type(self.pipe).__name__}

    def setup(self, request: dict[str, Any]) -> dict[str, Any]:
        self.names = names_in(request.get("schema", ""))
        return {"model_version": self.version}

    def predict(self, request: dict[str, Any]) -> dict[str, Any]:
        if request.get("label_config"):
            self.names = names_in(request["label_config"])
        return {"results": [self.prediction(self.text(task)) for task in request["tasks"]]}

    def webhook(self, request: dict[str, Any]) -> dict[str, Any]:
        if request["action"] in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
            self.learn(self.text(request["task"]), request["annotation"]["result"])
        elif request["action"] == "START_TRAINING":
            self.save()
        return {"status": "ok", "model_version": self.version}

    def text(self, task: dict[str, Any]) -> str:
        return str(task["data"][self.names.field])

    def doc(self, text: str) -> Doc:
        """The text as the component gets it, from the components before it."""
        doc = self.nlp.make_doc(text)
        for name, pipe in self.nlp.pipeline:
            if name == self.name:
                break
            doc = pipe(doc)
        return doc

    def prediction(self, text: str) -> dict[str, Any]:
        """The entities, and as a score how far they are ahead of the second best analysis: a low score is doubt."""
        doc = self.doc(text)
        scores = [score for score, _ in self.pipe.kbest(doc, 2)]
        doc = self.pipe(doc)
        result = [
            {
                "from_name": self.names.labels,
                "to_name": self.names.text,
                "type": "labels",
                "value": {
                    "start": entity.start_char,
                    "end": entity.end_char,
                    "text": entity.text,
                    "labels": [entity.label_],
                },
            }
            for entity in doc.ents
        ]
        found = {"result": result, "model_version": self.version}
        return found if len(scores) < 2 else {**found, "score": scores[0] - scores[1]}

    def learn(self, text: str, result: list[dict[str, Any]]) -> None:
        """Correct the component; `result` marks all entities of the text."""
        doc = self.doc(text)
        gold, entities = self.nlp.make_doc(text), []
        for value in (item["value"] for item in result if item["type"] == "labels"):
            entity = gold.char_span(value["start"], value["end"], label=value["labels"][0])
            if entity is None:
                marked = text[value["start"] : value["end"]]
                raise ValueError(f"{marked!r} is not made of whole tokens, which are {[token.text for token in gold]}")
            entities.append(entity)
        gold.set_ents(entities)
        with self.nlp.select_pipes(enable=self.name):
            self.nlp.update([Example(doc, gold)], sgd=self.optimizer)
        self.n_learnt += 1

    def save(self) -> None:
        """Replace OUTPUT as a whole: until the new pipeline is complete, the earlier one stays."""
        new, old = (self.output.with_name(f"{self.output.name}.{suffix}") for suffix in ("new", "old"))
        shutil.rmtree(new, ignore_errors=True)
        self.nlp.to_disk(new)
        if self.output.exists():
            shutil.rmtree(old, ignore_errors=True)
            self.output.rename(old)
        new.rename(self.output)
        shutil.rmtree(old, ignore_errors=True)
        self.n_saved = self.n_learnt


class Handler(BaseHTTPRequestHandler):
    """Checks each request before the recommender of its server gets it."""

    server: "Server"
    timeout = TIMEOUT

    def do_GET(self) -> None:
        if self.path in ("/", "/health"):
            self.answer(*self.refusal() or (HTTPStatus.OK, self.server.recommender.health()))
        else:
            self.answer(*self.refusal() or self.unknown())

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.answer(HTTPStatus.LENGTH_REQUIRED, {"error": "Content-Length must be the number of bytes"})
        elif int(length) > MAX_BODY:
            self.answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"error": f"a request has at most {MAX_BODY:,} bytes"})
        else:
            body = self.rfile.read(int(length))
            self.answer(*self.refusal() or self.reply(body))

    def refusal(self) -> Answer | None:
        """The answer to a request that a page of another origin can make a browser send."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.server.hosts:  # DNS may have led any name here
            return HTTPStatus.FORBIDDEN, {"error": f"Host must be one of {', '.join(self.server.hosts)}"}
        own = f"http://{hosts[0]}"
        if any(origin.lower() != own.lower() for origin in self.headers.get_all("Origin", [])):
            return HTTPStatus.FORBIDDEN, {"error": "pages of other origins are not answered"}
        if self.command == "POST" and self.headers.get_content_type() != "application/json":
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, {"error": "Content-Type must be application/json"}
        return None

    def reply(self, body: bytes) -> Answer:
        recommender = self.server.recommender
        routes = {"/setup": recommender.setup, "/predict": recommender.predict, "/webhook": recommender.webhook}
        if self.path not in routes:
            return self.unknown()
        try:
            request = json.loads(body)
            with recommender.lock:
                return HTTPStatus.OK, routes[self.path](request)
        except Exception as error:  # Whatever a request is like, the server goes on.
            return HTTPStatus.BAD_REQUEST, {"error": f"{type(error).__name__}: {error}"}

    def unknown(self) -> Answer:
        return HTTPStatus.NOT_FOUND, {"error": f"there is no {self.path} here"}

    def answer(self, status: HTTPStatus, response: dict[str, Any]) -> None:
        body = json.dumps(response).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(ThreadingHTTPServer):
    """A server of this recommender; port 0 stands for any that is free."""

    def __init__(self, recommender: Recommender, port: int) -> None:
        super().__init__((ADDRESS, port), Handler)
        self.recommender = recommender
        names = (ADDRESS, "localhost")
        self.hosts = [f"{name}:{self.server_port}" for name in names] + (list(names) if self.server_port == 80 else [])


def stop(*_: Any) -> None:
    """Leave `serve_forever`; further signals do not interrupt what follows."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    raise SystemExit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("output", type=Path)
    parser.add_argument("--component", help="an ssvm_ner; by default the last component of the pipeline")
    parser.add_argument("--port", type=int, default=9090)
    arguments = parser.parse_args()
    output: Path = arguments.output.resolve()
    if output.exists() and not (output / "config.cfg").exists() and (output.is_file() or any(output.iterdir())):
        parser.error(f"{output} is no pipeline, and would be replaced: name another folder")
    output.parent.mkdir(parents=True, exist_ok=True)
    nlp = spacy.load(arguments.model)
    recommender = Recommender(nlp, arguments.component or nlp.pipe_names[-1], output)
    with Server(recommender, arguments.port) as serving:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        print(f"Serving {recommender.name} on http://{ADDRESS}:{serving.server_port}", flush=True)
        try:
            serving.serve_forever()
        finally:
            recommender.lock.acquire()  # Never released, so that nothing is learnt that is not saved.
            if recommender.n_learnt > recommender.n_saved:
                recommender.save()


if __name__ == "__main__":
    main()
