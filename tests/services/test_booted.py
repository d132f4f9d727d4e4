"""Laws of the services as they run: two machines under systemd, made by the commands of docs/systemd.md.

`make test-services` runs them, as root; where machines cannot be booted they are skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from followed import (
    ASK,
    BOTH,
    PRIVATE,
    PUBLIC,
    QUESTION,
    Booted,
    Unit,
    code_of,
    edit,
    followed,
    get_model,
    until_answered,
)
from machines_booted import SOURCE, hindrance
from page import block

from waiting import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
MOST_EXPOSED = {"hocket-device": 1.1, "hocket-cloud": 1.5, "hocket-retrieval@": 0.5, "hocket-serve": 1.0}
MANY = 200  # tokens of a long answer
RELEASE = "tests/services/last_release"
LONG = """
import json, os
from hocket_client import Client
with Client() as client:
    for token in client.ask({question!r}, seed=1, max_tokens={tokens}, ignore_eos=True):
        print(json.dumps([token.id, token.source]), flush=True)
"""
OVER_HTTP = """
import json, sys, urllib.error, urllib.request
headers = {{"Content-Type": "application/json", "Authorization": "Bearer " + sys.argv[1]}}
asked = urllib.request.Request("http://127.0.0.1:8474/v1/chat/completions", {body!r}.encode(), headers)
try:
    print(json.load(urllib.request.urlopen(asked))["choices"][0]["finish_reason"])
except urllib.error.HTTPError as error:
    print(error.code)
"""


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Booted]:
    if why := hindrance():
        pytest.skip(why)
    with followed(tmp_path_factory.mktemp("machines")) as pair:
        yield pair


def test_a_question_is_answered_from_both_sides(booted: Booted) -> None:
    until_answered(booted)
    said = booted.laptop.run(ASK, "anna")
    assert [share for share in BOTH if not re.search(share, said)] == []


def test_an_answer_says_that_nobody_chose_the_model(booted: Booted) -> None:
    """As do the status and the journal, of either machine; the bundled one answers as none was got."""
    _, said = booted.laptop.attempt(ASK, "anna")
    assert said.count("hocket model get smollm2") == 2, said
    for machine in booted:
        assert "default model" in machine.ask("hocket status --json --home /etc/hocket")
        assert re.search(r'none was chosen.*"level": "warning"', machine.journal())


def test_whoever_is_in_no_group_is_refused(booted: Booted) -> None:
    """In one line, and the daemons' folders and keys are closed to everybody."""
    status, said = booted.laptop.attempt(ASK, "bob")
    assert (status != 0, said.count("\n"), "Traceback" in said) == (True, 1, False)
    for user in ("anna", "bob"):
        for place in ("/var/lib/hocket/device", "/var/lib/hocket/device-retrieval", "/etc/hocket/keys/secret.toml"):
            assert booted.laptop.attempt(f"test -r {place}", user)[0] != 0


def test_killed_daemons_are_back(booted: Booted) -> None:
    for unit in booted.units:
        former = unit.process
        unit.machine.run(f"systemctl kill -s KILL {unit.name}")
        until(lambda unit=unit, former=former: unit.is_back(former), every_s=0.2)  # type: ignore[misc]
    until_answered(booted)


def test_stopped_daemons_are_started_anew_by_the_watchdog(booted: Booted) -> None:
    """A process that does nothing gives no sign of life."""
    former = {unit: unit.process for unit in booted.units}
    for unit in former:
        unit.machine.run(f"systemctl kill -s STOP {unit.name}")
    until(lambda: all(unit.is_back(process) for unit, process in former.items()), every_s=0.5)
    until_answered(booted)


def test_a_revoked_key_is_let_in_no_more_after_a_reload(booted: Booted) -> None:
    """And the daemon is the same process as before."""
    cloud, code = Unit(booted.server, "hocket-cloud"), block("Start a server", " CODE")
    former = cloud.process
    booted.server.run("hocket keys revoke laptop-device --home /etc/hocket; systemctl reload hocket-cloud")
    until(lambda: not booted.answers_with_both(), every_s=0.5)
    booted.server.run(code.replace("CODE", code_of(booted.laptop)))
    until_answered(booted)
    assert cloud.process == former


@pytest.mark.parametrize("happens", ["kill -s KILL", "restart"])
def test_an_answer_goes_on_from_its_prefix_without_the_cloud(booted: Booted, happens: str) -> None:
    """Token by token it is what it would have been, up to where the device goes on alone; and the cloud is back.

    Before a restart the cloud finishes what is in work, as long as it may.
    """
    whole = _tokens(booted)
    cut = _tokens(booted, f"systemctl {happens} hocket-cloud")
    sources = [source for _, source in cut]
    assert (len(whole), len(cut)) == (MANY, MANY)
    assert happens == "restart" or "solo" in sources
    shared = [*sources, "solo"].index("solo")
    assert shared >= 5
    assert [id for id, _ in cut[:shared]] == [id for id, _ in whole[:shared]]
    until_answered(booted)


def _tokens(booted: Booted, meanwhile: str = "") -> list[tuple[int, str]]:
    """The tokens of a long answer, and who proposed each; the server runs a command once the fifth is there."""
    until_answered(booted)
    endpoint = ASK.splitlines()[0]
    script = LONG.format(question=QUESTION, tokens=MANY)
    asking = booted.laptop.start(f"{endpoint}\nexec /opt/hocket/bin/python -c \"$(cat <<'E'\n{script}\nE\n)\"", "anna")
    assert asking.stdout is not None
    lines = [asking.stdout.readline() for _ in range(5)]
    begun = booted.server.start(meanwhile) if meanwhile else None
    rest = asking.stdout.read()  # communicate() would pass over what stands in its buffer behind the fifth line
    _, complained = asking.communicate(timeout=120)
    assert asking.returncode == 0, complained
    if begun is not None:
        begun.communicate(timeout=120)
    return [(id, source) for id, source in map(json.loads, lines + rest.splitlines())]


def test_the_gateway_answers_whoever_has_a_key(booted: Booted) -> None:
    """As the page has one made; without it nobody."""
    code = OVER_HTTP.format(body=json.dumps({"model": "hocket", "messages": [{"role": "user", "content": QUESTION}]}))
    script = f"exec python3 -c \"$(cat <<'E'\n{code}\nE\n)\""
    assert booted.laptop.run(f"{script} {_key(booted)}", "bob").strip() == "stop"
    assert booted.laptop.run(f"{script} none", "bob").strip() == "401"


def _key(booted: Booted, name: str = "carl") -> str:
    """A new key by the page's line, for another person."""
    (line,) = [each for each in block("The HTTP gateway", "systemctl enable").splitlines() if "keys new" in each]
    return booted.laptop.run(line.partition("#")[0].replace("anna", name)).split()[0]


def test_units_expose_no_more_than_they_need(booted: Booted) -> None:
    """Also with what the page has edited, by the scale of `systemd-analyze security`, from 0 to 10."""
    for unit in booted.units:
        said = unit.machine.run(f"systemd-analyze security --no-pager {unit.name} | tail -1")
        (most,) = [bound for name, bound in MOST_EXPOSED.items() if unit.name.startswith(name)]
        assert float(re.search(r"exposure level for \S+: ([0-9.]+)", said)[1]) <= most, said  # type: ignore[index]


def test_a_reboot_changes_nothing(booted: Booted) -> None:
    for machine in booted:
        machine.reboot()
    until_answered(booted)
    assert all(unit.is_active for unit in booted.units)


def test_the_journal_holds_no_secrets(booted: Booted) -> None:
    """Of the services: no key, no question, nothing of a document, whatever happened before."""
    secret = 'python3 -c \'import tomllib; print(tomllib.load(open("/etc/hocket/keys/secret.toml", "rb"))["secret"])\''
    key = _key(booted, "dora")
    for machine in booted:
        journal = machine.ask("journalctl --no-pager -o export --all -u 'hocket-*'")
        assert "hocket" in journal
        secrets = [machine.run(secret).strip(), key, "Linnea", "Quillfeather", "granite", PRIVATE[:20], PUBLIC[:20]]
        assert [line for line in journal.splitlines() if any(each in line for each in secrets)] == []


def test_float_weights_say_what_the_unit_costs_them(booted: Booted) -> None:
    """The device's unit forbids code made at run time; what that means, and how to allow it, is said."""
    edit(booted.laptop, "hocket-device", block("Start a laptop", "IPAddressAllow=192.0.2.7"))
    booted.laptop.run(
        'sed -i.kept \'s|^name = "auto".*|name = "bundled"\\ndtype = "float32"|\' /etc/hocket/device.toml'
    )
    try:
        booted.laptop.run("systemctl restart hocket-device")
        assert "MemoryDenyWriteExecute=no" in booted.laptop.ask("hocket status --json --home /etc/hocket")
        until_answered(booted)
        allowed = block("Start a laptop", "IPAddressAllow=192.0.2.7") + "MemoryDenyWriteExecute=no\n"
        edit(booted.laptop, "hocket-device", allowed)
        booted.laptop.run("systemctl restart hocket-device")
        assert "MemoryDenyWriteExecute" not in booted.laptop.ask("hocket status --json --home /etc/hocket")
    finally:
        booted.laptop.run("mv /etc/hocket/device.toml.kept /etc/hocket/device.toml")
        edit(booted.laptop, "hocket-device", block("Start a laptop", "IPAddressAllow=192.0.2.7"))
        booted.laptop.run("systemctl restart hocket-device")


def test_a_model_that_is_got_answers_and_names_the_library_that_it_lacks(booted: Booted) -> None:
    for machine in booted:
        get_model(machine)
        machine.run("systemctl restart 'hocket-*'")
    until_answered(booted)
    assert "hocket model get" not in booted.laptop.attempt(ASK, "anna")[1]
    cloud = Unit(booted.server, "hocket-cloud")
    booted.server.run("mkdir /root/away; mv /usr/lib/*/libgomp.so.1* /root/away; ldconfig")
    assert booted.server.attempt("systemctl restart hocket-cloud")[0] != 0
    assert booted.server.ask("systemctl show -P ExecMainStatus hocket-cloud").strip() == "78"
    assert re.search(r"hocket: .*libgomp\.so\.1.*apt-get install libgomp1 ", booted.server.journal())
    booted.server.run("mv /root/away/* /usr/lib/x86_64-linux-gnu/; ldconfig; systemctl start hocket-cloud")
    until(lambda: cloud.is_active)
    until_answered(booted)


def test_the_last_release_becomes_this_one(booted: Booted) -> None:
    """Upgrade by the page, with a unit that had failed; the edited configuration stays."""
    place = f"{SOURCE}/{RELEASE}"
    for machine in booted:
        machine.run(
            f"cp {place}/*.service /etc/systemd/system/; cp {place}/hocket.sysusers /etc/sysusers.d/hocket.conf"
        )
        machine.run(f"cp {place}/hocket.tmpfiles /etc/tmpfiles.d/hocket.conf; systemctl daemon-reload")
        machine.run("systemctl restart --no-block 'hocket-*'")
    edited = booted.server.run("cat /etc/hocket/cloud.toml")
    booted.laptop.run("cd /etc/hocket && mv serve.toml away")
    assert booted.laptop.attempt("systemctl restart hocket-serve")[0] != 0
    booted.laptop.run("cd /etc/hocket && mv away serve.toml")
    for machine in booted:
        machine.run(block("Upgrade", "make install-units"))
    assert booted.server.run("cat /etc/hocket/cloud.toml") == edited
    until(lambda: all(unit.is_active for unit in booted.units), every_s=0.5, said=booted.journals)
    until_answered(booted)
