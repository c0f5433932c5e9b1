"""The pages of the reference as Markdown, made of the OpenAPI description: Sphinx's conf.py writes them."""

import json
import re
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any

import yaml

Node = dict[str, Any]
ROOT = Path(__file__).parents[1]
# What the keywords of bounds count, such as minLength and maxLength.
_UNITS = {"Length": " characters", "imum": "", "Items": " items", "Properties": " fields"}
MAX_SHOWN = 12


def description() -> Node:
    """Return the description of the API (OpenAPI 3.1)."""
    found: Node = yaml.load((ROOT / "docs" / "openapi.yaml").read_bytes(), yaml.CSafeLoader)
    return found


class Reference:
    """The reference of a description (OpenAPI 3.1)."""

    def __init__(self) -> None:
        self.document = document = description()
        self.components = document["components"]
        self.by_tag: dict[str, list[Node]] = {tag["name"]: [] for tag in document["tags"]}
        for is_webhook, part in enumerate(("paths", "webhooks")):
            for path, item in document[part].items():
                for method, one in item.items():
                    added = {"path": path, "method": method.upper(), "is_webhook": bool(is_webhook)}
                    self.by_tag[one["tags"][0]].append(one | added)

    def pages(self) -> dict[str, str]:
        """Return the text of each page by its name: an index, and one for each tag."""
        texts = {
            _slug(name := tag["name"]): _joined(
                f"# {name}", tag["description"], *map(self.operation, self.by_tag[name])
            )
            for tag in self.document["tags"]
        }
        return {"index": self.index()} | texts

    def index(self) -> str:
        """Return the page with all operations, and with the headers that they share."""
        info, schemes = self.document["info"], self.components["securitySchemes"]
        signing = [{"required": True, "schema": {"type": "string"}} | one for one in schemes.values()]
        # Other parameters, and the headers of a webhook, begin with lower case.
        headers = [one for name, one in self.components["parameters"].items() if name.istitle()]
        links = {
            tag: " · ".join(f"{{ref}}`{one['summary']} <{one['operationId']}>`" for one in operations)
            for tag, operations in self.by_tag.items()
        }
        return _joined(
            "# Reference",
            _prose(info["description"]),
            f"Made of [openapi.json](/openapi.json){{.external}}, version {info['version']} of the API.",
            "## Operations",
            *(f"[{tag}]({_slug(tag)}.md)\n: {operations}" for tag, operations in links.items()),
            "## Headers of a request",
            *map(self.term, (*signing, *headers)),
            "## Headers of a response",
            *(self.term(one | {"name": name, "required": False}) for name, one in self.components["headers"].items()),
            "```{toctree}\n:hidden:\n" + "\n".join(map(_slug, self.by_tag)) + "\n```",
        )

    def operation(self, one: Node) -> str:
        """Return the section of an operation or webhook."""
        parameters = [self.resolved(node) for node in one.get("parameters", [])]
        body, is_webhook = self.media(one.get("requestBody", {})), one["is_webhook"]
        fields = [*self.fields(body.get("schema", {}), required="" if is_webhook else "required")]
        shown = [self.term(node) for node in parameters if node["in"] != "header" or node["name"] == "Idempotency-Key"]
        responses, refused = [], []
        for status, node in one["responses"].items():
            media, about = self.media(node), _prose(self.resolved(node)["description"])
            if status >= "400" and not is_webhook:
                refused.append(_error(int(status), about, self.values(media)))
            else:
                fields_of = self.fields(media.get("schema", {}), optional="if there is one")
                responses += [f"**Response** `{status}`", about, *map(_block, self.values(media)), *fields_of]
        return _joined(
            f"({one['operationId']})=\n## {one['summary']}",
            "" if is_webhook else f"**{one['method']}** `{one['path']}`",
            _prose(one.get("description", "")),
            *(map(_block, self.values(body)) if is_webhook else [self.samples(one, parameters)]),
            *(["**Parameters**", *shown] if shown else []),
            *(["**Body**", *fields] if fields else []),
            *responses,
            *(["::::{dropdown} Errors", *refused, "::::"] if refused else []),
        )

    def samples(self, one: Node, parameters: list[Node]) -> str:
        """Return the request with the description's examples, in a tab for each language."""
        target = one["path"]
        for one_of in parameters:
            target = target.replace(f"{{{one_of['name']}}}", str([*self.values(one_of), "…"][0]))
        body = next(iter(self.values(self.media(one.get("requestBody", {})))), None)
        # A write gets a key by itself; some must not have one.
        is_keyed = one["method"] == "GET" or any(node["name"] == "Idempotency-Key" for node in parameters)
        call = f'"{one["method"]}", "{target}"'
        literal = re.sub(r"(?<=: )(true|false|null)\b", lambda found: str(json.loads(found[1])), _json(body, indent=4))
        python, named = (f"body = {literal}\n", ", json=body") if body else ("", "")
        named += "" if is_keyed else ', idempotency_key=""'
        python = f"import httpx\nimport psi\n\n{python}with httpx.Client(**psi.options()) as client:\n    response = "
        node = 'import { send, signedFetch } from "./psi.mjs";\n\n' + (f"const json = {_json(body)};\n" if body else "")
        options = ", ".join([*(["json"] if body else []), *([] if is_keyed else ['idempotencyKey: ""'])])
        options = f", {{ {options} }}" if options else ""
        bash, argument = "" if is_keyed else "PSI_IDEMPOTENCY_KEY=none ", f" '{_json(body)}'" if body else ""
        codes = {
            "Python": f"```python\n{python}psi.send(client, {call}{named})\n```",
            "Node.js": f"```javascript\n{node}const response = await send(signedFetch(), {call}{options});\n```",
            "Bash": f"```bash\n{bash}bash psi.sh {one['method']} '{target}'{argument}\n```",
        }
        tabs = (f":::{{tab-item}} {name}\n:sync: {name}\n{code}\n:::\n" for name, code in codes.items())
        return f"::::{{tab-set}}\n:sync-group: language\n{''.join(tabs)}::::"

    def values(self, node: Node) -> list[Any]:
        """Return the examples of a parameter or media type."""
        return [self.resolved(one)["value"] for one in node.get("examples", {}).values()]

    def fields(self, schema: Node, prefix: str = "", **marks: str) -> Iterator[str]:
        """Yield the fields of an object or of the objects of a list, each followed by its nested fields."""
        whole = self.resolved(schema)
        if "items" in whole:
            yield from self.fields(whole["items"], f"{prefix}[]", **marks)
        for value, option in whole.get("discriminator", {}).get("mapping", {}).items():
            yield f"With `{whole['discriminator']['propertyName']}` `{value}`:"
            yield from self.fields({"$ref": option}, prefix, **marks)
        for name, node in whole.get("properties", {}).items():
            path = f"{prefix}.{name}" if prefix else name
            mark = marks.get("required" if name in whole.get("required", []) else "optional", "")
            yield self.term({"name": path, "schema": node, "mark": mark})
            yield from self.fields(node, path, **marks)

    def term(self, node: Node) -> str:
        """Return a field, parameter or header as an entry of a definition list."""
        whole = self.resolved(node["schema"])
        bounds = [(whole.get(f"min{name}"), whole.get(f"max{name}"), unit) for name, unit in _UNITS.items()]
        words = {(False, True): "at most {1}", (True, False): "at least {0}", (True, True): "{0} to {1}"}
        rules = [words[bool(low), bool(high)].format(low, high) + unit for low, high, unit in bounds if low or high]
        rules += [node.get("mark", "required" if node.get("required") else "")]
        text = node.get("description") or node["schema"].get("description") or whole.get("description", "")
        values = [whole["const"]] if "const" in whole else whole.get("enum") or whole.get("x-extensible-enum", [])
        shown = ", ".join([*(f"`{one}`" for one in values[:MAX_SHOWN]), *(["…"] if values[MAX_SHOWN:] else [])])
        title = f"`{node['name']}` {', '.join(filter(None, (self.type_of(whole), *rules)))}"
        return f"{title}\n: {_prose(text)}" + (f" Values: {shown}." if values else "")

    def type_of(self, schema: Node) -> str:
        """Return the type in words, such as `string (date) or null`."""
        whole = self.resolved(schema)
        if options := whole.get("oneOf") or whole.get("anyOf"):
            return " or ".join(dict.fromkeys(map(self.type_of, options)))
        types = whole.get("type", "any")
        form = f" ({whole['format']})" if "format" in whole else ""
        form = f" of {self.type_of(whole['items'])}s" if "items" in whole else form
        return " or ".join(
            one if one == "null" else one + form for one in ([types] if isinstance(types, str) else types)
        )

    def media(self, node: Node) -> Node:
        """Return the first media type of a request body or response."""
        return next(iter(self.resolved(node).get("content", {}).values()), {})

    def resolved(self, node: Node) -> Node:
        """Return a node, or the component that it refers to."""
        while "$ref" in node:
            _, _, kind, name = node["$ref"].split("/")
            node = self.components[kind][name]
        return node


def _error(status: int, about: str, bodies: list[Node]) -> str:
    """Return an error with the messages that the description has for it."""
    found = [(f"`{one['field']}`: ", one) for body in bodies for one in body.get("fieldErrors", [])]
    found += [("", body) for body in bodies if not body.get("fieldErrors")]
    messages = dict.fromkeys(f"\n  - {before}{_prose(one['message'])}" for before, one in found)
    codes = dict.fromkeys(f" `{body['error']}`" for body in bodies)
    return f"`{status}` {HTTPStatus(status).phrase}{''.join(codes)}\n: {about}\n{''.join(messages)}"


def _prose(text: str) -> str:
    """Return a description as Markdown: it has code in backticks, and no other marks."""
    mask = r"`[^`]*`|[*_<\[\]\\{}]"
    escaped = re.sub(mask, lambda found: found[0] if found[0][0] == "`" else f"\\{found[0]}", text.strip())
    return re.sub(r"/docs(/[a-z#/-]*)?", r"[\g<0>](\g<0>){.external}", escaped)


_json = partial(json.dumps, indent=2, ensure_ascii=False)


def _block(value: Any) -> str:
    return "" if isinstance(value, str) else f"```json\n{_json(value)}\n```"


def _slug(tag: str) -> str:
    return tag.lower().replace(" ", "-")


def _joined(*parts: str) -> str:
    return "\n\n".join(filter(None, parts)) + "\n"
