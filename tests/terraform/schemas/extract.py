"""Turn a prebuilt CDK package of hashicorp/google into what `terraform providers schema` prints.

    python extract.py PACKAGE OUT.json NAME… [data.NAME …]

The package's index.js files embed their TypeScript in an inline source map. It says of every
attribute `// NAME - computed: …, optional: …, required: …`, and of all that can be set whether it
is a block, and of which type. What it does not say is in README.md.
"""

import base64
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ADDRESS = "registry.terraform.io/hashicorp/google"
Block = dict[str, dict[str, object]]
Setting = tuple[bool, str, str]
"""Whether it is a block, its kind (list, set, struct or a simple type), and its class."""

_MAP = re.compile(r"sourceMappingURL=data:application/json;base64,([A-Za-z0-9+/=]+)")
_FLAGS = re.compile(
    r"^ *// (\S+) - computed: (\w+), optional: (\w+), required: (\w+)$", re.MULTILINE
)
_SETTING = re.compile(
    r"^ +(\w+): \{\s+value: [^\n]*\n\s+isBlock: (\w+),\s+"
    r'type: "(\w+)",\s+storageClassType: "(\w+)",',
    re.MULTILINE,
)
_CLASS = re.compile(
    r"^export class (\w+) extends cdktf\.(\w+) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
_INTERFACE = re.compile(
    r"^export interface (\w+) (?:extends [\w.]+ )?\{\n(.*?)^\}", re.MULTILINE | re.DOTALL
)
_WRITER = re.compile(r"^export function (\w+)ToHclTerraform\(.*?^\}", re.MULTILINE | re.DOTALL)
_NEW = re.compile(r'private _\w+ = new ([\w.]+)\(this, "\w+"(?:, (true|false))?\);')
_GETTER = re.compile(r"return (cdktf\.Fn\.tolist\()?this\.(\w+)\(")
_ENUM = re.compile(r"Possible values: \[(\"[^\]]*)\]")

_LIST, _SET, _MAP_OF = (lambda of, kind=kind: [kind, of] for kind in ("list", "set", "map"))
_GETTERS: Mapping[str, object] = {
    "getStringAttribute": "string",
    "getNumberAttribute": "number",
    "getBooleanAttribute": "bool",
    "getListAttribute": _LIST("string"),
    "getNumberListAttribute": _LIST("number"),
    "getStringMapAttribute": _MAP_OF("string"),
}
_SIMPLE: Mapping[tuple[str, str], object] = {
    ("simple", "string"): "string",
    ("simple", "number"): "number",
    ("simple", "boolean"): "bool",
    ("list", "stringList"): _LIST("string"),
    ("set", "stringList"): _SET("string"),
    ("list", "numberList"): _LIST("number"),
    ("set", "numberList"): _SET("number"),
    ("map", "stringMap"): _MAP_OF("string"),
}
_COMPLEX = {
    "cdktf.StringMap": _MAP_OF("string"),
    "cdktf.StringMapList": _LIST(_MAP_OF("string")),
}
# From the provider's documentation; the packages do not say.
_SENSITIVE = {
    ("google_secret_manager_secret_version", "secret_data"),
    ("google_sql_database_instance", "root_password"),
    ("google_sql_user", "password"),
}


def main(package: Path, out: Path, names: Sequence[str]) -> None:
    """Write the schemas of the named resources and data sources."""
    provider = Source.of(package / "lib" / "provider")
    found = {name: Source.of(package / "lib" / _folder(name)) for name in names}
    schema = {
        "data_source_schemas": dict(_schemas(found, data=True)),
        "provider": _without(provider.schema(), "alias"),
        "resource_schemas": dict(_schemas(found, data=False)),
    }
    document = {
        "format_version": "1.0",
        "provider_schemas": {ADDRESS: schema},
        "x_provider_version": provider.version,
    }
    text = json.dumps(document, separators=(",", ":"), sort_keys=True)
    out.write_text(f"{text}\n")


def _folder(name: str) -> str:
    return name.replace("data.google_", "data-google-").removeprefix("google_").replace("_", "-")


def _schemas(
    found: Mapping[str, "Source"], *, data: bool
) -> Iterator[tuple[str, Mapping[str, object]]]:
    for name, source in found.items():
        if name.startswith("data.") is data:
            yield name.removeprefix("data."), source.schema()


def _without(schema: dict[str, object], attribute: str) -> dict[str, object]:
    schema["block"]["attributes"].pop(attribute, None)
    return schema


@dataclass(frozen=True)
class Source:
    """The TypeScript of one resource, data source or provider."""

    text: str

    @classmethod
    def of(cls, folder: Path) -> "Source":
        """Read a folder; the biggest resources have further files below it."""
        files = [folder / "index.js", *sorted(folder.glob("*/*.js"))]
        texts = [_original(file.read_text(encoding="utf-8")) for file in files]
        return cls(re.sub(r"\bcdktn\.", "cdktf.", "\n".join(texts)))

    @cached_property
    def version(self) -> str:
        """Return the provider's version."""
        return re.search(r"providerVersion: '([^']+)'", self.text)[1]

    @cached_property
    def classes(self) -> Mapping[str, tuple[str, str]]:
        """Return the superclass and the body of each class."""
        return {name: (above, body) for name, above, body in _CLASS.findall(self.text)}

    @cached_property
    def interfaces(self) -> Mapping[str, str]:
        """Return the body of each interface."""
        return dict(_INTERFACE.findall(self.text))

    @cached_property
    def writers(self) -> Mapping[str, Mapping[str, Setting]]:
        """Return what can be set of each nested block."""
        return {found[1]: _settings(found[0]) for found in _WRITER.finditer(self.text)}

    @cached_property
    def main(self) -> tuple[str, str, str]:
        """Return type, class and body of what the source is about."""
        kinds = {"TerraformDataSource", "TerraformProvider", "TerraformResource"}
        for name, (above, body) in self.classes.items():
            if above in kinds:
                return re.search(r'tfResourceType = "(\w+)"', body)[1], name, body
        raise LookupError("no resource, data source or provider")

    def schema(self) -> dict[str, object]:
        """Return the schema."""
        _, name, body = self.main
        written = _settings(body[body.index("synthesizeHclAttributes") :])
        return {"version": 0, "block": self._block(body, written, f"{name}Config", ())}

    def _block(
        self, body: str, settings: Mapping[str, Setting], interface: str, above: tuple[str, ...]
    ) -> Block:
        attributes: dict[str, object] = {}
        blocks: dict[str, object] = {}
        for name, flags, segment in _members(body):
            setting = settings.get(name)
            inner = self._inner(segment, above)
            if setting and setting[0]:
                blocks[name] = self._nested(setting, flags, inner)
            else:
                kind = _type(setting, segment, inner)
                attributes[name] = self._attribute(name, kind, flags, interface)
        found = {"attributes": attributes, "block_types": blocks}
        return {key: dict(sorted(value.items())) for key, value in found.items() if value}

    def _inner(self, segment: str, above: tuple[str, ...]) -> tuple[str, bool, Block] | None:
        """Return what stands for a nested block: its constructor, whether it is a set, itself."""
        new = _NEW.search(segment)
        if not new or new[1].startswith("cdktf."):
            return None
        name = re.sub(r"(List|OutputReference)$", "", new[1])
        if name in above:
            return new[1], new[2] == "true", {}
        body = self.classes[f"{name}OutputReference"][1]
        settings = self.writers.get(name[0].lower() + name[1:], {})
        return new[1], new[2] == "true", self._block(body, settings, name, (*above, name))

    def _nested(
        self, setting: Setting, flags: Mapping[str, bool], inner: tuple[str, bool, Block] | None
    ) -> Mapping[str, object]:
        _, kind, of = setting
        if inner is None:
            return {"nesting_mode": kind, "max_items": 1, "block": self._own_block(of)}
        if kind == "struct":
            return {"nesting_mode": "single", "block": inner[2]}
        least = {"min_items": 1} if flags["required"] else {}
        most = {"max_items": 1} if inner[0].endswith("OutputReference") else {}
        return {"nesting_mode": kind, "block": inner[2], **least, **most}

    def _own_block(self, of: str) -> Block:
        """Return one of the provider's own blocks, which have an interface and nothing else."""
        name = of.removesuffix("List")
        settings = self.writers[name[0].lower() + name[1:]]
        body = self.interfaces[name]
        return {
            "attributes": {
                each: {
                    "type": _SIMPLE[kind, store],
                    "optional" if f"readonly {_camel(each)}?:" in body else "required": True,
                }
                for each, (_, kind, store) in sorted(settings.items())
            }
        }

    def _attribute(
        self, name: str, kind: object, flags: Mapping[str, bool], interface: str
    ) -> Mapping[str, object]:
        found: dict[str, object] = {"type": kind, **self._enumerated(interface, name)}
        if name.endswith("_wo") and flags["optional"] and not flags["computed"]:
            found["write_only"] = True  # by the provider's rule for names
        if (self.main[0], name) in _SENSITIVE:
            found["sensitive"] = True
        return found | {flag: True for flag, is_set in flags.items() if is_set}

    def _enumerated(self, interface: str, name: str) -> Mapping[str, object]:
        """Return the sentence that the provider's generator writes of an enumeration."""
        pattern = rf"((?:^  \*[^\n]*\n)+)^  readonly {_camel(name)}\??:"
        comment = re.search(pattern, self.interfaces.get(interface, ""), re.MULTILINE)
        values = comment and _ENUM.search(comment[1])
        return {"description": f"Possible values: [{values[1]}]"} if values else {}


def _original(script: str) -> str:
    return json.loads(base64.b64decode(_MAP.search(script)[1]))["sourcesContent"][0]


def _settings(text: str) -> Mapping[str, Setting]:
    return {
        name: (is_block == "true", kind, of) for name, is_block, kind, of in _SETTING.findall(text)
    }


def _members(body: str) -> Iterator[tuple[str, Mapping[str, bool], str]]:
    """Yield each attribute's name, its flags, and the code between it and the next."""
    marks = list(_FLAGS.finditer(body))
    ends = [*(mark.start() for mark in marks[1:]), len(body)]
    for mark, end in zip(marks, ends, strict=False):
        flags = zip(("computed", "optional", "required"), mark.groups()[1:], strict=True)
        yield mark[1], {flag: is_set == "true" for flag, is_set in flags}, body[mark.end() : end]


def _type(setting: Setting | None, segment: str, inner: tuple[str, bool, Block] | None) -> object:
    if setting:
        return _SIMPLE[setting[1], setting[2]]
    if inner:
        members = {name: each["type"] for name, each in inner[2].get("attributes", {}).items()}
        return ["set" if inner[1] else "list", ["object", members]]
    if new := _NEW.search(segment):
        return _COMPLEX[new[1]]
    as_list, getter = _GETTER.search(segment).groups()
    kind = _GETTERS[getter]
    return ["set", kind[1]] if as_list else kind


def _camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
