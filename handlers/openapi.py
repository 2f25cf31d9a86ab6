"""The API's own description: an OpenAPI 3.1 document, and a page to read and try it."""

import re
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from importlib.metadata import version
from importlib.resources import files
from inspect import cleandoc

from flask import Blueprint, Response, current_app, jsonify
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from werkzeug.exceptions import NotFound
from werkzeug.routing import Rule

from handlers.models import Problem
from handlers.routes import ROUTES, Route
from injector.manifest import Manifest

Json = dict[str, object]

REF = "#/components/schemas/{model}"
ALWAYS = (401, 403, 503)
TYPES = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
    "favicon-32x32.png": "image/png",
}
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>injector API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" href="docs/favicon-32x32.png">
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</html>
"""
START = 'SwaggerUIBundle({url: "openapi.json", dom_id: "#page", deepLinking: true});\n'
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"
)

openapi = Blueprint("openapi", __name__)


@openapi.get("/openapi.json")
def document() -> Response:
    """Describe this API."""
    return jsonify(_document(list(current_app.url_map.iter_rules())))


@openapi.get("/docs")
def docs() -> Response:
    """Show a page to read and try this API."""
    return Response(
        PAGE, content_type="text/html", headers={"Content-Security-Policy": PAGE_POLICY}
    )


@openapi.get("/docs/<name>")
def docs_file(name: str) -> Response:
    """Send a file of that page."""
    if name == "start.js":
        return Response(START, content_type="text/javascript")
    if name not in TYPES:
        raise NotFound
    content = (files("flask_swagger_ui") / "dist" / name).read_bytes()
    kept = {"Cache-Control": "private, max-age=3600"}
    return Response(content, content_type=TYPES[name], headers=kept)


def _document(rules: Sequence[Rule]) -> Json:
    token = {"type": "http", "scheme": "bearer", "bearerFormat": "OIDC"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "injector",
            "version": version("cloud-tasks-injector"),
            "description": "Turns each record of a file into one Cloud Tasks task.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "security": [{"token": []}],
        "paths": _paths(rules),
        "components": {"securitySchemes": {"token": token}, "schemas": _schemas()},
    }


def _paths(rules: Sequence[Rule]) -> Json:
    paths: dict[str, Json] = {}
    for rule in sorted(rules, key=lambda rule: rule.rule):
        route = ROUTES.get(rule.endpoint)
        path = re.sub(r"<(\w+)>", r"{\1}", rule.rule)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            if route:  # the dashboard's pages are not for programs
                name = f"{rule.endpoint}.{method.lower()}"
                words = cleandoc(current_app.view_functions[rule.endpoint].__doc__ or "")
                described = _operation(rule, route, words)
                paths.setdefault(path, {})[method.lower()] = {"operationId": name, **described}
    return dict(paths)


def _operation(rule: Rule, route: Route, words: str) -> Json:
    summary, _, rest = words.partition("\n")
    described: Json = {
        "summary": summary,
        "tags": [route.tag],
        "parameters": [*_place(rule), *_query(route), *_headers(route)],
        "responses": dict(_responses(route)),
    }
    if rest.strip():
        described["description"] = rest.strip()
    if route.takes:
        described["requestBody"] = {
            "required": any(field.is_required() for field in route.takes.model_fields.values()),
            "content": {"application/json": {"schema": _ref(route.takes)}},
        }
    if route.open:
        described["security"] = []
    return described


def _place(rule: Rule) -> Iterator[Json]:
    for name in sorted(rule.arguments):
        schema = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query(route: Route) -> Iterator[Json]:
    if not route.query:
        return
    for name, schema in route.query.model_json_schema()["properties"].items():
        yield {"name": name, "in": "query", "schema": schema, "allowEmptyValue": True}


def _headers(route: Route) -> Iterator[Json]:
    if route.steers:
        words = "The ETag that was shown; the change is made only if nothing changed since."
        schema: Json = {"type": "string", "pattern": r'^(\*|"[0-9]{1,9}")$'}
        yield {"name": "If-Match", "in": "header", "schema": schema, "description": words}
    if route.once:
        words = "A key of your choice; the same request under it is done once."
        schema = {"type": "string", "maxLength": 255, "pattern": "^[ -~]+$"}
        yield {"name": "Idempotency-Key", "in": "header", "schema": schema, "description": words}


def _responses(route: Route) -> Iterator[tuple[str, Json]]:
    for status in route.statuses:
        answer: Json = {"description": HTTPStatus(status).phrase}
        if isinstance(route.answers, str):
            if route.answers:
                answer["content"] = {route.answers: {}}
        else:
            answer["content"] = {"application/json": {"schema": _ref(route.answers)}}
        yield str(status), answer
    always = (503,) if route.open else ALWAYS
    if route.tag != "machines":
        always = (*always, 429)
    for status in sorted({*always, *route.refusals}):
        content = {"application/problem+json": {"schema": _ref(Problem)}}
        yield str(status), {"description": HTTPStatus(status).phrase, "content": content}


def _schemas() -> Json:
    """Return the schemas of all models; the manifest of a submission is a Manifest."""
    taken = [each.takes for each in ROUTES.values() if each.takes]
    shown = [each.answers for each in ROUTES.values() if not isinstance(each.answers, str)]
    modes: dict[type[BaseModel], str] = dict.fromkeys((*shown, Problem), "serialization")
    modes |= dict.fromkeys((*taken, Manifest), "validation")
    models = list(modes.items())
    _, found = models_json_schema(models, ref_template=REF)  # type: ignore[arg-type]
    schemas: dict[str, Json] = found["$defs"]
    properties = schemas["Submission"]["properties"]
    assert isinstance(properties, dict)
    properties["manifest"] = {"$ref": REF.format(model="Manifest")}
    return dict(schemas)


def _ref(model: type[BaseModel]) -> Json:
    return {"$ref": REF.format(model=model.__name__)}
