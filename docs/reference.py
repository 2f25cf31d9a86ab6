"""Write the reference pages, made from the code: python docs/reference.py FOLDER."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from handlers.app import create_app
from handlers.metrics import make_metrics
from injector.cli.main import EXIT_CODES
from injector.groups import Group
from injector.manifest.schema import Manifest
from injector.settings import Settings, variables

Schema = Mapping[str, object]


def write(folder: Path) -> None:
    """Write each page into the folder."""
    pages = {"manifest": manifest, "settings": settings, "cli": cli, "api": api, "metrics": metrics}
    folder.mkdir(parents=True, exist_ok=True)
    for name, page in pages.items():
        (folder / f"{name}.md").write_text(page() + "\n", encoding="utf-8")


def manifest() -> str:
    """Describe each key of a manifest, from its JSON Schema."""
    schema = Manifest.model_json_schema()
    parts = {"A job": schema, **schema["$defs"]}
    return "\n\n".join(
        (
            "# The manifest",
            "`injector init` writes a commented one; `injector schema` is this page for an editor.",
            *(_part(name, part) for name, part in parts.items()),
        )
    )


def settings() -> str:
    """Describe each environment variable."""
    rows = (
        (f"`{key}`", _shown(field.get_default(call_default_factory=True)), field.description)
        for key, field in variables().items()
    )
    return "\n\n".join(
        (
            "# Settings",
            "Read from the environment, once, in capitals. An empty variable counts as unset.",
            _table(("variable", "default", "what it needs to be"), rows),
        )
    )


def cli() -> str:
    """Describe each command by its own `--help`."""
    rows = ((str(code), words) for code, words in EXIT_CODES.items())
    codes = _table(("exit code", "what it says"), rows)
    return (
        f"# Commands\n\n{codes}\n\n"
        "::: mkdocs-click\n    :module: injector.cli.main\n    :command: cli\n"
        "    :prog_name: injector\n    :depth: 1\n    :style: table\n"
    )


def api() -> str:
    """List the routes, from the OpenAPI document."""
    queue = "projects/p/locations/l/queues/q"
    groups = {"any": Group("any", injector_queues=(queue,), queues=(queue,))}
    app = create_app(Settings(auth="off", groups=groups))
    document = app.test_client().get("/openapi.json").json
    return "\n\n".join(
        (
            "# HTTP API",
            "The service describes itself at `/openapi.json` (3.1), and shows that at `/docs`.",
            "Errors are problem details (RFC 9457). Lists have cursors; changes take `If-Match`.",
            _table(("request", "what it does"), _routes(document)),
        )
    )


def metrics() -> str:
    """List what `/metrics` shows."""
    families = make_metrics().registry.collect()
    rows = ((f"`{each.name}`", each.type, each.documentation) for each in families)
    return "\n\n".join(("# Metrics", "At `/metrics`.", _table(("name", "type", "meaning"), rows)))


def _routes(document: Schema) -> Iterator[tuple[str, str]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"`{method.upper()} {path}`", operation["summary"]


def _shown(default: object) -> str:
    return f"`{default}`" if default not in (None, "", (), {}) else ""


def _part(name: str, part: Schema) -> str:
    required = part.get("required", ())
    rows = (
        (f"`{key}`", _kind(field), _default(key, field, required), _said(field))
        for key, field in part.get("properties", {}).items()
    )
    table = _table(("key", "value", "default", "meaning"), rows)
    return f"## {name}\n\n{part.get('description', '')}\n\n{table}"


def _default(key: str, field: Schema, required: Iterable[str]) -> str:
    if key in required:
        return "*needed*"
    return _shown(field.get("default"))


def _kind(field: Schema) -> str:
    if "$ref" in field:
        name = str(field["$ref"]).rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field or "oneOf" in field:
        choices = field.get("anyOf") or field["oneOf"]
        return " or ".join(_kind(one) for one in choices if one.get("type") != "null")
    if "const" in field:
        return f"`{field['const']}`"
    kind = field.get("type", "any")
    return kind if isinstance(kind, str) else " or ".join(kind)


def _said(field: Schema) -> str:
    return str(field.get("description", "")).replace("\n", " ")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]))
