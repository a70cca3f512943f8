"""`spacy ssvm serve`: a page on which a pipeline is seen, asked and taught; or a backend of an annotation tool."""

import secrets
from pathlib import Path
from typing import Annotated

import typer
from wasabi import msg

from ..distributed.folder import locked
from ..pipeline.ner import SsvmNer
from .reading import CodePath, PipelineName, failing, load_pipeline
from .suggest import texts_of

NEEDED = 'spacy ssvm serve needs FastAPI and uvicorn: pip install "spacy-ssvm[serve]"'


@failing()
def serve_command(
    model: PipelineName,
    texts_path: Annotated[
        Path | None,
        typer.Option(
            "--texts",
            "-t",
            help='Texts to walk through: .txt with one a line, .jsonl with "text" (both also .gz), or .spacy',
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The only folder that is written to", file_okay=False)
    ] = Path("taught"),
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="Port; 0 for any that is free")] = 8080,
    label_studio: Annotated[
        bool, typer.Option("--label-studio", "-l", help="Be the backend of Label Studio, with the token in a header")
    ] = False,
    host: Annotated[
        list[str] | None, typer.Option("--host", help="With --label-studio: another value of Host to answer")
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", help="Token in place of a random one", envvar="SPACY_SSVM_TOKEN")
    ] = None,
    code_path: CodePath = None,
) -> None:
    """Show a pipeline's analyses on a page, explain them, and teach it by corrections, which it learns at once.

    For one person on this machine: this is no production server.
    """
    try:
        from ..serve import app as pages
        from ..serve import label_studio as tool
        from ..serve import running, session
    except ImportError as error:
        msg.fail(NEEDED, str(error), exits=1)
    token = token or secrets.token_urlsafe(16)
    if not token.replace("-", "").replace("_", "").isalnum() or not token.isascii():
        msg.fail("A token consists of letters, digits, - and _", exits=1)
    if host and not label_studio:
        msg.fail("--host is for --label-studio: the page is for this machine alone", exits=1)
    nlp, pipes = load_pipeline(model, code_path, output)
    recognisers = [name for name, pipe in pipes.items() if isinstance(pipe, SsvmNer)]
    if label_studio and not recognisers:
        msg.fail(f"{model} has no ssvm_ner, whose entities --label-studio recommends", exits=1)
    with locked(output), running.listen(port) as listening:
        texts = () if texts_path is None else (text.record["text"] for text in texts_of(nlp, texts_path))
        with session.opened(nlp, output, texts) as opened:
            app = tool.create_backend(opened, recognisers[-1]) if label_studio else pages.create_app(opened)
            port = listening.getsockname()[1]
            guarded = running.guarded(app, token, port, host or (), is_in_header=label_studio)
            address = f"http://{running.ADDRESS}:{port}"
            if label_studio:
                typer.echo(f"Serving {recognisers[-1]} on {address}, with the header Authorization: Token {token}")
            else:
                typer.echo(f"For you on this machine, and no production server: {address}/{token}/")
            running.run(guarded, listening)
            if label_studio and not opened.is_saved:
                opened.save()
