"""A backend of Label Studio: predictions for its tasks, and annotation that is learnt as it is made.

It answers the requests of a Label Studio ML backend. /predict answers with the entities of texts, and /webhook learns
each annotation at once. "Start training" in the tool saves the pipeline.
"""

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from hashlib import sha256
from typing import Annotated, Any, NamedTuple

import srsly
from fastapi import Body as InBody
from fastapi import FastAPI

from .app import OneAtATime, described
from .session import Session

Request = Annotated[dict[str, Any], InBody()]


class InterfaceNames(NamedTuple):
    """Names in the tool's labelling interface: of its labels, its text, and the field of a task with the text."""

    labels: str = "label"
    text: str = "text"
    field: str = "text"


def names_in(interface: Any) -> InterfaceNames:
    """The names in a labelling interface, which is XML with an element Labels and an element Text.

    Raises:
        ValueError: it is none.
    """
    if not interface:
        return InterfaceNames()
    try:
        tree = ElementTree.fromstring(interface)
        labels, text = tree.find(".//Labels"), tree.find(".//Text")
        if labels is not None and text is not None:
            return InterfaceNames(labels.attrib["name"], labels.attrib["toName"], text.attrib["value"].lstrip("$"))
    except (ElementTree.ParseError, LookupError, TypeError) as error:
        raise ValueError(f"the labelling interface cannot be read: {error!r}") from error
    raise ValueError("the labelling interface needs <Labels> and <Text>")


class Backend:
    """The answers to the tool. Each is for one thread at a time.

    Args:
        component: the recogniser that recommends and learns.
    """

    def __init__(self, session: Session, component: str) -> None:
        self._session, self._component = session, component
        self._names = InterfaceNames()

    def setup(self, request: dict[str, Any]) -> dict[str, Any]:
        """Read the labelling interface. Each annotation makes another version, so that the tool asks anew."""
        self._names = names_in(request.get("schema", ""))
        return {"model_version": self._session.version}

    def predict(self, request: dict[str, Any]) -> dict[str, Any]:
        """The entities of the texts of tasks."""
        if request.get("label_config"):
            self._names = names_in(request["label_config"])
        return {"results": [self._prediction(self._text(task)) for task in request["tasks"]]}

    def webhook(self, request: dict[str, Any]) -> dict[str, Any]:
        """Learn an annotation, or save."""
        if request["action"] in ("ANNOTATION_CREATED", "ANNOTATION_UPDATED"):
            self._learn(self._text(request["task"]), request["annotation"]["result"])
        elif request["action"] == "START_TRAINING":
            self._session.save()
        return {"status": "ok", "model_version": self._session.version}

    def _text(self, task: dict[str, Any]) -> str:
        return str(task["data"][self._names.field])

    def _prediction(self, text: str) -> dict[str, Any]:
        """The entities, and as a score how far they are ahead of the second best analysis: a low score is doubt."""
        entities, gap = self._session.recommend(text, self._component)
        names = {"from_name": self._names.labels, "to_name": self._names.text, "type": "labels"}
        values = [
            {"start": e.start, "end": e.end, "text": text[e.start : e.end], "labels": [e.label]} for e in entities
        ]
        result = [{**names, "value": value} for value in values]
        found = {"result": result, "model_version": self._session.version}
        return found if gap is None else {**found, "score": gap}

    def _learn(self, text: str, result: list[dict[str, Any]]) -> None:
        """Correct the component; `result` marks all entities of the text."""
        values = [item["value"] for item in result if item["type"] == "labels"]
        spans = [(int(value["start"]), int(value["end"]), str(value["labels"][0])) for value in values]
        key = sha256(srsly.json_dumps([self._session.version, text, spans]).encode()).hexdigest()
        self._session.annotate(key, text, self._component, spans)


def create_backend(session: Session, component: str) -> FastAPI:
    """The application of a backend."""
    app, alone = described("spacy ssvm serve --label-studio"), OneAtATime(session)
    backend = Backend(session, component)

    @app.get("/")
    @app.get("/health")
    def health() -> dict[str, Any]:
        return {"status": "UP", "model_class": type(session.nlp.get_pipe(component)).__name__}

    def answer(ask: Callable[[dict[str, Any]], dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
        try:
            return alone(lambda _: ask(request))
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError(f"{type(error).__name__}: {error}") from error

    @app.post("/setup")
    def setup(request: Request) -> dict[str, Any]:
        return answer(backend.setup, request)

    @app.post("/predict")
    def predict(request: Request) -> dict[str, Any]:
        return answer(backend.predict, request)

    @app.post("/webhook")
    def webhook(request: Request) -> dict[str, Any]:
        return answer(backend.webhook, request)

    return app
