"""What a person asks for, and the task that each record becomes."""

from injector.manifest.groups_file import load_groups
from injector.manifest.load import load_manifest, manifest_schema, parse_manifest
from injector.manifest.record import Record
from injector.manifest.rendering import Renderer, check_destination, compile_job
from injector.manifest.request import compile_request, fields_used, task_template
from injector.manifest.schema import Manifest

__all__ = [
    "Manifest",
    "Record",
    "Renderer",
    "check_destination",
    "compile_job",
    "compile_request",
    "fields_used",
    "load_groups",
    "load_manifest",
    "manifest_schema",
    "parse_manifest",
    "task_template",
]
