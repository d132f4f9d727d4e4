"""The rules of the house, kept by reading the source."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

import house
from house import ROOT

FLOORS = {
    "hocket_bus": set(),
    "hocket_client": {"hocket_bus"},
    "hocket_gateway": {"hocket_bus", "hocket_client"},
    "hocket_retrieval": {"hocket_bus"},
    "hocket_daemon": {"hocket_bus", "hocket_models", "hocket_retrieval"},
    "hocket_tools": {
        *("hocket_bus", "hocket_client", "hocket_gateway", "hocket_models", "hocket_retrieval", "hocket_daemon"),
    },
    "hocket_lab": {
        *("hocket_bus", "hocket_client", "hocket_gateway", "hocket_models", "hocket_retrieval", "hocket_daemon"),
        "hocket_tools",
    },
}
RUN_WHAT_ARRIVES = {
    "pickle", "dill", "cloudpickle", "joblib", "marshal", "shelve",
    "recv_pyobj", "send_pyobj", "allow_pickle",
}  # fmt: skip
EVERYWHERE = ("tcp://*", "0.0.0.0", "[::]")
SOURCES = house.files()
MAX_FILE, MAX_FUNCTION = 500, 50
DAEMON = ROOT / "daemon" / "hocket_daemon"
MODES = {path.parent.name for path in DAEMON.glob("*/mode.py")} - {"serving"}  # which says what a mode is
# They name modes; daemons are put together from these.
ROOTS = {"roles/parts.py", "roles/modes.py", "roles/auto.py", "config.py"}
SCRIPTS = sorted(ROOT.glob("models/**/*.py"))


EACH_MODES_OWN = {"mode", "settings", "leader", "follower", "Leader", "Follower"}  # a mode's room has all of them
PRIVATE_WORDS = {
    "alike", "asker", "becoming", "brake", "cage", "circle", "desk", "door", "far", "farewell", "heard", "heed",
    "inflow", "kept", "lean", "manuscript", "met", "mover", "pieces", "said", "seat", "served", "sings", "stint",
    "told", "voice", "voices",
}  # fmt: skip
STILL_IN_VALUES = {"asker", "kept", "met", "said", "told"}  # parameters and attributes are called so; no more of them


def imported(path: Path) -> set[str]:
    """Top-level names that a file imports."""
    names = set()
    for node in house.nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add((node.module or "").partition(".")[0])
    return names


def package_of(path: Path) -> str:
    return next(part for part in path.parts if part in FLOORS)


def test_all_packages_are_read() -> None:
    """The other tests have something to look at."""
    assert {package_of(path) for path in SOURCES} == set(FLOORS)


def test_imports_go_down() -> None:
    """Lower floors know nothing of higher ones, and one room imports zmq."""
    for path in SOURCES:
        names, package = imported(path), package_of(path)
        assert {name for name in names if name.startswith("hocket_")} <= FLOORS[package] | {package}, path
        assert "zmq" not in names or path.parent.name == "sockets", path


def test_the_graph_stands_above_the_store() -> None:
    """It follows what the store holds, which knows nothing of it; few know both."""
    modules = {house.module_of(source) for source in SOURCES}
    retrieval = ROOT / "retrieval" / "hocket_retrieval"
    knowing = {
        path.name
        for path in retrieval.glob("**/*.py")
        if path.parent.name != "graph"
        and any(name.startswith("hocket_retrieval.graph.") for name in house.imports(path, modules))
    }
    assert knowing == {"collection.py", "daemon.py", "replies.py", "earlier.py"}


def faults(source: str) -> set[str]:
    """What would run bytes or text that arrive, and addresses that mean every interface of a machine."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name):
                found |= {name} & {"exec", "eval", "pickle"}
            case ast.keyword(arg="weights_only", value=ast.Constant(value=False)):
                found.add("weights_only")
            case ast.Attribute(attr=name) | ast.alias(name=name) | ast.keyword(arg=str(name)):
                found |= {name} & RUN_WHAT_ARRIVES
            case ast.Constant(value=str(text)):
                found |= {address for address in EVERYWHERE if address in text}
    return found


def test_nothing_runs_what_arrives_or_listens_everywhere() -> None:
    """No eval, no pickle under any name, not even for zmq, numpy or torch to use; nobody is let in by an address."""
    for path in SOURCES + SCRIPTS:
        allowed = set(EVERYWHERE) if path.name == "endpoints.py" else set()
        assert not faults(path.read_text(encoding="utf-8")) - allowed, path


@pytest.mark.parametrize(
    "line",
    [
        "eval(text)",
        "socket.recv_pyobj()",
        "import pickle",
        "from zmq import recv_pyobj",
        "numpy.load(file, allow_pickle=True)",
        "torch.load(file, weights_only=False)",
        "socket.bind('tcp://*:5000')",
        "endpoint = f'tcp://0.0.0.0:{port}'",
        "host = '[::]'",
    ],
)
def test_each_of_these_would_be_seen(line: str) -> None:
    """The test above can fail."""
    assert faults(line)


WRITES_JSON = {"json.dumps", "json.dump", "json.encode", "json.Encoder", "JSONResponse", "JSONEncoder"}
ONE_ENCODER = "bus/hocket_bus/as_json.py"
OWN_FORMATS = {  # files that hocket alone reads, values of TOML, and what servers and templates are told
    "bus/hocket_bus/config.py",
    *(
        f"daemon/hocket_daemon/{name}"
        for name in ("dispatch/policies/account_file.py", "graph/calibration_file.py", "engine")
    ),
    *("daemon/hocket_daemon/profiling/profiles.py", "tools/hocket_tools/train"),
    "tools/hocket_tools/models/packed_embedder.py",  # the files of sentence-transformers
    *(
        f"retrieval/hocket_retrieval/{name}.py"
        for name in ("stores/lance/lance_table", "stores/outlines", "graph/answer")
    ),
}


def json_written(source: str) -> set[str]:
    """What of WRITES_JSON a source names, whatever it calls the library."""
    nodes = list(ast.walk(ast.parse(source)))
    dotted = {ast.unparse(node).removeprefix("msgspec.") for node in nodes if isinstance(node, ast.Attribute)}
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    froms = {
        name
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        for name in (alias.name, f"{(node.module or '').rpartition('.')[2]}.{alias.name}")
    }
    return (dotted | named | froms) & WRITES_JSON


def test_one_encoder_makes_the_json_that_programs_read() -> None:
    """All records go through it, so that none has a field that is printed nowhere else and breaks there."""
    for path in SOURCES:
        name = _name(path)
        if package_of(path) == "hocket_lab" or any(name == each or name.startswith(f"{each}/") for each in OWN_FORMATS):
            continue
        allowed = WRITES_JSON if name == ONE_ENCODER else set()
        assert not json_written(path.read_text(encoding="utf-8")) - allowed, path


@pytest.mark.parametrize(
    "line",
    [
        "typer.echo(json.dumps(record))",
        "msgspec.json.encode(record)",
        "from json import dumps",
        "from starlette.responses import JSONResponse",
        "encoder = msgspec.json.Encoder()",
    ],
)
def test_json_of_another_encoder_would_be_seen(line: str) -> None:
    """The test above can fail."""
    assert json_written(line)


def test_files_and_functions_are_short() -> None:
    """At most 500 and 50 lines; an exception that is none any more is struck out."""
    assert {_name(path) for path in SOURCES if house.lines(path) > MAX_FILE} == set()
    functions = [function for path in SOURCES for function in house.functions(path)]
    long = {f"{_name(each.path)} {each.name}" for each in functions if each.lines > MAX_FUNCTION}
    assert long == set()


def modes_reached(path: Path) -> set[str]:
    """The modes that a file of the daemon imports something of; relative imports are followed."""
    modules = {house.module_of(source) for source in SOURCES}
    return {module.split(".")[1] for module in house.imports(path, modules) if module.count(".")} & MODES


def named(path: Path) -> list[str]:
    """A file's own name, and those of its functions and classes, private ones too."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = house.nodes(path)
    return [path.stem, *(node.name for node in nodes if isinstance(node, kinds))]


def valued(path: Path) -> set[str]:
    """Return the names of a file's parameters, variables and attributes."""
    found: set[str] = set()
    for node in house.nodes(path):
        match node:
            case ast.arg(arg=name) | ast.Attribute(attr=name) | ast.Name(id=name):
                found.add(name)
    return found


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_names_are_the_fields_words() -> None:
    """None of the words that this project had for itself; the glossary has the others."""
    found = {(str(path), name) for path in SOURCES for name in named(path) if words(name) & PRIVATE_WORDS}
    assert found == set()


def test_parameters_and_attributes_are_named_so_too() -> None:
    """But for some words that many are still called by."""
    banned = PRIVATE_WORDS - STILL_IN_VALUES
    names = {(str(path), name) for path in SOURCES for name in valued(path) - {"collect_usage_pieces"}}  # click's own
    found = {(path, name) for path, name in names if words(name) & banned}
    assert found == set()


@pytest.mark.parametrize("name", ["Voice", "_told", "has_said_all", "TransformersVoice", "kept"])
def test_each_of_these_names_would_be_seen(name: str) -> None:
    assert words(name) & PRIVATE_WORDS


def test_docstrings_begin_with_a_verb_or_a_noun_phrase() -> None:
    """A reader learns at once what a function does or a class is, and not that something is "whether" or "of"."""
    assert house.vague_docstrings(SOURCES) == []


def test_a_vague_docstring_would_be_seen(tmp_path: Path) -> None:
    """The test above can fail; a word that only begins like one of those may stand."""
    sources = ('"""Whether it holds."""', '"""Whole pages."""', 'def f() -> None:\n    """What is sent."""')
    paths = _written(tmp_path, a=sources[0], b=sources[1], c=sources[2])
    assert house.vague_docstrings(paths) == ["Whether it holds.", "What is sent."]


def test_no_file_or_class_is_named_as_another_of_its_floor() -> None:
    """A search for a name finds a room and not a hall."""
    rooms: Counter[tuple[str, str]] = Counter()
    for path in SOURCES:
        if (floor := package_of(path)) != "hocket_lab":
            tree = house.tree(path)
            classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
            own = [path.stem, *(name for name in classes if not name.startswith("_"))]
            rooms.update((floor, name) for name in own if name not in {"__init__"} | EACH_MODES_OWN)
    assert [room for room, count in rooms.items() if count > 1] == []


def test_no_mode_knows_another_and_what_all_use_knows_none() -> None:
    """Serving, engine and whatever else modes share import no mode; only what puts a daemon together names modes."""
    reaching = set()
    for path in sorted(DAEMON.glob("**/*.py")):
        name = str(path.relative_to(DAEMON))
        own = {path.relative_to(DAEMON).parts[0]}
        if name not in ROOTS and modes_reached(path) - own:
            reaching.add(name)
    assert reaching == set()
    assert "aggregation" in MODES
    assert modes_reached(DAEMON / "roles" / "modes.py") == MODES


def test_what_is_named_as_a_question_changes_nothing() -> None:
    """A property, or a function named is_…, has_… and so on, sets no attribute of its object."""
    for path in SOURCES:
        changing = {asked.name: set_ for asked in house.questions(path) if (set_ := house.assigned_to_self(asked))}
        assert not changing, path


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("self.count += 1", {"count"}),
        ("self.a, other.b = 1, 2", {"a"}),
        ("del self.found", {"found"}),
        ("self.found[0] = 1", {"found"}),
        ("return self.found", set()),
    ],
)
def test_a_question_that_changes_something_would_be_seen(tmp_path: Path, body: str, changed: set[str]) -> None:
    """The test above can fail."""
    path = tmp_path / "source.py"
    lines = ["class A:", *(f"    def {name}(self):\n        {body}" for name in ("is_it", "_has_it", "idle", "do_it"))]
    path.write_text("\n".join([*lines, f"    @property\n    def it(self):\n        {body}"]))
    asked = house.questions(path)
    assert sorted(function.name for function in asked) == ["_has_it", "idle", "is_it", "it"]
    assert all(house.assigned_to_self(function) == changed for function in asked)


def _written(folder: Path, **files: str) -> list[Path]:
    """Files of a package below `folder`."""
    package = folder / "bus" / "hocket_bus"
    package.mkdir(parents=True)
    for name, text in files.items():
        (package / f"{name}.py").write_text(text)
    return house.files(folder)


def test_circles_are_found_wherever_the_import_stands(tmp_path: Path) -> None:
    """In a function, for the type checker, relative, over a package's name; a chain is no circle."""
    paths = _written(
        tmp_path,
        a="from . import b",
        b="def late():\n    from hocket_bus.c import x",
        c="if TYPE_CHECKING:\n    import hocket_bus.a\nfrom .d import y",
        d="import hocket_client.a",
        __init__="from .a import z",
    )
    assert house.circles(paths) == [{"hocket_bus.a", "hocket_bus.b", "hocket_bus.c"}]


def test_private_names_of_other_files_are_found(tmp_path: Path) -> None:
    """Another file's attribute, function or inherited member; not one's own, not a library's."""
    paths = _written(
        tmp_path,
        a="class A:\n    def __init__(self): self._x = 1\n    def _f(self): return self._x\ndef _g(): pass",
        b="from .a import A, _g\nclass B(A):\n    def h(self, a): return self._x, a._f(), a._asdict()",
        c="class C:\n    def __init__(self): self._x = 1\n    def same(self, other): return self._x == other._x",
    )
    found = [(access.path.stem, access.name, access.inherited) for access in house.private_accesses(paths)]
    assert sorted(found) == [("b", "_f", False), ("b", "_g", False), ("b", "_x", True)]


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))
