"""A recommender of entities for annotation tools: python serve.py MODEL OUTPUT [--component NAME] [--port 9090].

The requests are those of a Label Studio ML backend. /predict answers with the entities of texts, and /webhook learns
each annotation at once, as a correction. "Start training" in the tool saves the corrected pipeline to OUTPUT. The
server listens on this machine only, and handles one request at a time.
"""

import argparse
import json
import xml.etree.ElementTree as ElementTree
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example


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
    """A pipeline, whose component `name` recommends entities and learns from annotation; output: where it is saved."""

    def __init__(self, nlp: Language, name: str, output: Path) -> None:
        self.nlp, self.name, self.output = nlp, name, output
        self.pipe: Any = nlp.get_pipe(name)
        self.optimizer = nlp.resume_training()
        self.names = Names()
        self.n_learnt = 0

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
            self.nlp.to_disk(self.output)
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


def server(recommender: Recommender, port: int) -> HTTPServer:
    """A server of this recommender; port 0 stands for any that is free."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer({"/health": recommender.health, "/": recommender.health}.get(self.path))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            routes = {"/setup": recommender.setup, "/predict": recommender.predict, "/webhook": recommender.webhook}
            action = routes.get(self.path)
            self.answer(None if action is None else lambda: action(json.loads(body)))

        def answer(self, action: Any) -> None:
            status, response = 404, {"error": f"there is no {self.path} here"}
            if action is not None:
                try:
                    status, response = 200, action()
                except Exception as error:  # Whatever a request is like, the server goes on.
                    status, response = 400, {"error": f"{type(error).__name__}: {error}"}
            body = json.dumps(response).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return HTTPServer(("127.0.0.1", port), Handler)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("output", type=Path)
    parser.add_argument("--component", help="an ssvm_ner; by default the last component of the pipeline")
    parser.add_argument("--port", type=int, default=9090)
    arguments = parser.parse_args()
    nlp = spacy.load(arguments.model)
    recommender = Recommender(nlp, arguments.component or nlp.pipe_names[-1], arguments.output)
    with server(recommender, arguments.port) as serving:
        print(f"Serving {recommender.name} on http://127.0.0.1:{serving.server_port}", flush=True)
        serving.serve_forever()


if __name__ == "__main__":
    main()
