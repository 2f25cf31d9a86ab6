"""A manifest from a person's file, or from the ledger."""

from pathlib import Path

from pydantic import ValidationError

from injector.errors import Misused
from injector.manifest.complaint import explain, problems_of
from injector.manifest.document import read_document
from injector.manifest.problem import complaint
from injector.manifest.schema import Manifest


def load_manifest(origin: Path | str, *, source: str = "") -> Manifest:
    """Read a manifest from a file, or from YAML text that is then called `source`.

    Raises Misused with every problem of the file, one line each: file:line:column: cause; remedy.
    """
    document = read_document(origin, source=source)
    problems = list(document.problems)
    try:
        manifest = Manifest.model_validate(document.value)
    except ValidationError as error:
        problems += problems_of(error, Manifest, document)
    if problems:
        raise complaint(document.source, problems)
    return manifest


def parse_manifest(text: str | bytes) -> Manifest:
    """Read back what `Manifest.model_dump_json` wrote; raise Misused when it is something else."""
    try:
        return Manifest.model_validate_json(text)
    except ValidationError as error:
        found = error.errors(include_url=False)
        raise Misused("; ".join(f"manifest: {explain(one, Manifest)}" for one in found)) from error


def manifest_schema() -> dict[str, object]:
    """Return the JSON Schema by which editors complete and check a manifest."""
    schema = Manifest.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Injector manifest",
        **{key: value for key, value in schema.items() if key != "title"},
        "oneOf": [{"required": ["task"]}, {"required": ["message"]}],
    }
