"""Each verb is written twice and no more: as a declaration, and as the method that carries it out."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from pilothouse.types.host import all_verbs
from pilothouse.types.host import services as declared
from pilothouse.types.verbs import verbs_of
from pilothouse.web.routes import ROUTES
from tests.support.source import ROOT, FunctionNode, Module, modules

SERVICES = {service.__name__: service for service in declared().values()}
DECLARED = {service.__module__ for service in SERVICES.values()} | {"pilothouse.types.host"}
# A stream is opened by its own hand, and goes on with what was begun: nothing else in these parts names a verb.
STREAMS = {
    "pilothouse.web.streams",
    "pilothouse.web.socket",
    "pilothouse.web.terminal_socket",
    "pilothouse.client.host",
}
# What the web server itself offers beside the verbs.
OWN = {"health", "ready", "openapi", "begin_session", "end_session", "new_link", "page_socket", "terminal_socket"}


def classes(found: tuple[Module, ...]) -> Iterator[tuple[Module, ast.ClassDef]]:
    return ((module, node) for module in found for node in module.nodes if isinstance(node, ast.ClassDef))


def bases(node: ast.ClassDef) -> list[str]:
    return [ast.unparse(base).partition("[")[0] for base in node.bases]


def services(module: Module) -> set[str]:
    """Return the services that a module imports; other classes may have their names."""
    imported = (node for node in module.nodes if isinstance(node, ast.ImportFrom) and node.module in DECLARED)
    return set(SERVICES) & {alias.name for node in imported for alias in node.names}


def test_each_verb_has_a_name_an_address_and_a_sentence_of_its_own() -> None:
    verbs = [verb for _, verb in all_verbs()]
    assert len(verbs) > 75
    for of in ([verb.name for verb in verbs], [(verb.method, verb.path) for verb in verbs]):
        assert [each for each, count in Counter(of).items() if count > 1] == []
    assert [verb.name for verb in verbs if not verb.summary.endswith(".")] == []


def test_each_verb_is_one_method_of_the_one_class_that_carries_its_service_out() -> None:
    found = [(module, node) for module, node in classes(modules()) if services(module) & set(bases(node))]
    for name, service in SERVICES.items():
        [carries_out] = [node for _, node in found if name in bases(node)]
        methods = Counter(node.name for node in carries_out.body if isinstance(node, FunctionNode))
        assert {verb.attribute: methods[verb.attribute] for verb in verbs_of(service)} == {
            verb.attribute: 1 for verb in verbs_of(service)
        }


def test_no_class_is_put_together_from_parts_of_one() -> None:
    ours = {node.name for _, node in classes(modules())}
    mixed = [
        f"{module.place} {node.name}"
        for module, node in classes(modules())
        if module.package in ("host", "web", "client") and len(ours & set(bases(node))) > 1
    ]
    assert mixed == []


def test_the_web_server_serves_every_verb_and_beside_them_only_its_own() -> None:
    assert {route.name for route in ROUTES} == {verb.name for _, verb in all_verbs()} | OWN


def test_neither_the_web_server_nor_the_client_names_a_verb() -> None:
    paths = {verb.path for _, verb in all_verbs()}
    verbs = {(noun, verb.attribute) for noun, verb in all_verbs()}
    wrong = []
    for module in modules():
        if module.package not in ("web", "client") or module.name in STREAMS:
            continue
        for node in module.nodes:
            if isinstance(node, ast.Constant) and node.value in paths:
                wrong.append(f"{module.place}:{node.lineno} {node.value}")
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
                asked = (node.value.attr, node.attr)
                if asked in verbs:
                    wrong.append(f"{module.place}:{node.lineno} {'.'.join(asked)}")
    assert wrong == []


def test_no_test_has_a_host_of_its_own_making() -> None:
    fakes = [
        f"{module.place} {node.name}"
        for module, node in classes(modules(ROOT / "tests"))
        if services(module) & set(bases(node))
    ]
    assert fakes == []


def test_a_verb_says_where_each_of_its_arguments_stands() -> None:
    for _, verb in all_verbs():
        places = [parameter.place for parameter in verb.takes]
        assert places.count("path") == len(re.findall(r"{\w+}", verb.path))
        assert places == sorted(places, key=lambda place: place != "path")
        assert sum(place in ("body", "upload") for place in places) <= (verb.method != "GET")
