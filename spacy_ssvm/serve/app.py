"""The interface of a session over HTTP, in JSON, described by OpenAPI; and the page that uses it."""

from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, TypeVar

from fastapi import FastAPI, Query
from fastapi import Path as InPath
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, Field

from .. import __version__
from . import answers
from .lessons import MAX_TEXT, MAX_TEXTS, UnknownText
from .session import MAX_BEST, Session
from .views import MAX_LABEL

WAITING = 30.0
"""The max seconds that a request waits for earlier ones."""
MAX_LISTED = 500
STATIC = Path(__file__).with_name("static")

Found = TypeVar("Found")
IDENTITY = "^[0-9a-f]{16}$"
"""The identity of a text."""
Document = Annotated[str, Field(pattern=IDENTITY, description="the identity of a text")]
ComponentName = Annotated[str, Field(min_length=1, max_length=100)]
Character = Annotated[int, Field(ge=0, le=MAX_TEXT, description="a character of the text, from 0")]


class Busy(Exception):
    """Other requests have taken too long."""


class OneAtATime:
    """A session for the threads of a server, one at a time."""

    def __init__(self, session: Session) -> None:
        self._session, self._lock = session, Lock()

    def __call__(self, ask: Callable[[Session], Found]) -> Found:
        """The session's answer, when it is free.

        Raises:
            Busy: it was not within WAITING seconds.
        """
        if not self._lock.acquire(timeout=WAITING):
            raise Busy
        try:
            return ask(self._session)
        finally:
            self._lock.release()


class Body(BaseModel):
    """A body with exactly the declared fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class NewText(Body):
    """A text to add."""

    text: str = Field(min_length=1, max_length=MAX_TEXT)


class OfText(Body):
    """A text, and a component that annotates it."""

    document: Document
    component: ComponentName


class Question(OfText):
    """An item to explain: its characters, its label and, for an arc, a character of its head."""

    start: Character
    end: Character
    label: str = Field(max_length=MAX_LABEL)
    head: Character | None = None


class HowMany(OfText):
    """The number of analyses to list."""

    k: int = Field(ge=1, le=MAX_BEST)


class Named(Body):
    """A correction with a name: one that is sent twice is done once."""

    id: str = Field(pattern="^[A-Za-z0-9_-]{8,64}$", description="a name that no other correction has")


class TaughtItem(Named, Question):
    """An item that is right. An empty label: there is no entity. A span that cuts tokens is extended to whole ones."""


class Acceptance(Named, OfText):
    """A text whose annotation by a component is right as a whole."""


class Nothing(Body):
    """An empty object."""


class Refused(BaseModel):
    """Why a request was not answered."""

    error: str


REFUSED: dict[int | str, dict[str, Any]] = {
    status: {"model": Refused, "description": description}
    for status, description in (
        (400, "The component cannot do this; the message says why"),
        (403, "The token, Host or Origin is not the right one"),
        (404, "There is no such text or component"),
        (422, "The request is not of this form"),
        (503, "Other requests have taken too long"),
    )
}


def described(title: str) -> FastAPI:
    """An application that answers errors in JSON, without a page of documentation from elsewhere."""
    app = FastAPI(
        title=title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        servers=[{"url": "./"}],
        responses=REFUSED,
    )

    def refuse(kind: type[Exception], status: HTTPStatus, says: Callable[[Any], str] = str) -> None:
        app.add_exception_handler(kind, lambda _, error: JSONResponse({"error": says(error)}, int(status)))

    refuse(UnknownText, HTTPStatus.NOT_FOUND)
    refuse(ValueError, HTTPStatus.BAD_REQUEST)
    refuse(Busy, HTTPStatus.SERVICE_UNAVAILABLE, lambda _: "busy: try again")
    refuse(OSError, HTTPStatus.INSUFFICIENT_STORAGE, lambda error: f"nothing was written: {error}")
    refuse(RequestValidationError, HTTPStatus.UNPROCESSABLE_ENTITY, _flaws)
    return app


def _flaws(error: RequestValidationError) -> str:
    """The flaws of a request, without its own contents, which need not be text."""
    flaws = [f"{'.'.join(map(str, flaw['loc']))}: {flaw['msg']}" for flaw in error.errors()]
    return "; ".join(flaws).encode("utf8", "replace").decode()


def create_app(session: Session) -> FastAPI:
    """The application of a session, and its page."""
    app, alone = described("spacy ssvm serve"), OneAtATime(session)

    @app.get("/api/state", operation_id="state")
    def state() -> answers.SessionState:
        """The pipeline, its components, and how right they were."""
        return alone(Session.state)

    @app.get("/api/texts", operation_id="texts")
    def texts(
        offset: Annotated[int, Query(ge=0, le=MAX_TEXTS)] = 0,
        limit: Annotated[int, Query(ge=1, le=MAX_LISTED)] = 50,
    ) -> answers.Texts:
        """Some of the texts, in order."""
        return alone(lambda session: session.texts(offset, limit))

    @app.post("/api/texts", operation_id="add")
    def add(body: NewText) -> answers.Analysis:
        """Add a text, and analyse it."""
        return alone(lambda session: session.analyse(session.add(body.text)))

    @app.get("/api/texts/{document}", operation_id="analyse")
    def analyse(document: Annotated[str, InPath(pattern=IDENTITY)]) -> answers.Analysis:
        """A text as the pipeline analyses it now."""
        return alone(lambda session: session.analyse(document))

    @app.post("/api/explain", operation_id="explain")
    def explain(body: Question) -> answers.Answer:
        """Why an item is predicted, or is not."""
        item = body.start, body.end, body.label, body.head
        return alone(lambda session: session.explain(body.document, body.component, *item))

    @app.post("/api/best", operation_id="best")
    def best(body: HowMany) -> list[answers.Ranked]:
        """The k best analyses of a text by one component."""
        return alone(lambda session: session.best(body.document, body.component, body.k))

    @app.post("/api/corrections", operation_id="teach")
    def teach(body: TaughtItem) -> answers.Learnt:
        """Teach that an item is right; the answer follows once this is on the disk."""
        item = body.start, body.end, body.label, body.head
        return alone(lambda session: session.teach(body.id, body.document, body.component, *item))

    @app.post("/api/accept", operation_id="accept")
    def accept(body: Acceptance) -> answers.Learnt:
        """Teach that the annotation of a text by one component is right as a whole."""
        return alone(lambda session: session.accept(body.id, body.document, body.component))

    @app.post("/api/undo", operation_id="undo")
    def undo(body: Named) -> answers.Undone:
        """Take back the last correction, and restore predictions."""
        return alone(lambda session: session.undo(body.id))

    @app.get("/api/changes", operation_id="changes")
    def changes() -> answers.Changes:
        """The changes of predictions for the first texts since the last request."""
        return alone(Session.changes)

    @app.get("/api/suggestion", operation_id="suggest")
    def suggest(
        component: Annotated[str, Query(min_length=1, max_length=100)],
        after: Annotated[str | None, Query(pattern=IDENTITY)] = None,
    ) -> answers.Suggested:
        """The text that a component would learn most from; after: a text not to suggest."""
        return alone(lambda session: session.suggest(component, after))

    @app.post("/api/export", operation_id="export")
    def export(_: Nothing) -> answers.Written:
        """Write taught annotation to .spacy and .conllu files."""
        return alone(Session.export)

    @app.post("/api/save", operation_id="save")
    def save(_: Nothing) -> answers.Written:
        """Save the taught pipeline."""
        return alone(Session.save)

    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app
