"""Laws of sealed channels: what one end seals the other opens, once, in order, and nobody else ever."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import pytest
from nacl.bindings import crypto_scalarmult
from nacl.exceptions import CryptoError

from hocket_bus.errors import BadMessage
from hocket_bus.trust import sealing
from hocket_bus.trust.sealing import OVERHEAD_BYTES, Channel, SealingKey

ANNA, BEN, EVE = (SealingKey.of_secret(name * 40) for name in "abe")
CONTEXT = b"session 7: anna asks ben"
OPENING, ANSWERING, SETTLED = b"\0", b"\1", b"\2"  # the first byte of a box
SMALL_ORDER = (bytes(32), b"\1" + bytes(31), ((1 << 255) - 19).to_bytes(32, "little"))


def opened(context: bytes = CONTEXT) -> tuple[Channel, Channel]:
    """Both ends, before the opener has heard the answerer."""
    anna = Channel.opening(ANNA, BEN.public, context)
    ben, text = Channel.answering(BEN, anna.seal(b"hello"), context)
    assert (text, ben.peer, anna.peer) == (b"hello", ANNA.public, BEN.public)
    return anna, ben


def settled(context: bytes = CONTEXT) -> tuple[Channel, Channel]:
    """Both ends, once each has heard that the other one hears it."""
    anna, ben = opened(context)
    anna.unseal(ben.seal(b""))
    ben.unseal(anna.seal(b""))
    return anna, ben


def refused(channel: Channel, envelope: bytes) -> None:
    with pytest.raises(BadMessage):
        channel.unseal(envelope)


def test_what_is_sealed_is_opened_whatever_is_lost_on_the_way() -> None:
    """In both directions, in any interleaving, whatever is lost, first boxes too; and both ends come to small boxes."""
    rng = random.Random(1)
    for _ in range(60):
        anna = Channel.opening(ANNA, BEN.public, CONTEXT)
        while rng.random() < 0.5:
            anna.seal(b"lost")
        ben, first = Channel.answering(BEN, anna.seal(b"first"), CONTEXT)
        assert first == b"first"
        for _ in range(40):
            sender, receiver = rng.choice([(anna, ben), (ben, anna)])
            text = rng.randbytes(rng.randrange(300))
            envelope = sender.seal(text)
            if rng.random() < 0.6:
                assert receiver.unseal(envelope) == text
        anna.unseal(ben.seal(b""))
        ben.unseal(anna.seal(b""))
        assert {anna.seal(b"")[:1], ben.seal(b"")[:1]} == {SETTLED}


def test_boxes_in_flight_while_an_end_goes_on_still_open() -> None:
    """What was sealed before the sender knew of an answer opens behind nothing later, as long as nothing later came."""
    anna, ben = opened()
    early, answers = [anna.seal(b"early %d" % each) for each in range(3)], [ben.seal(b"a"), ben.seal(b"b")]
    assert [ben.unseal(envelope) for envelope in early[:2]] == [b"early 0", b"early 1"]
    assert [anna.unseal(envelope) for envelope in answers] == [b"a", b"b"]
    late = anna.seal(b"late")
    assert [envelope[:1] for envelope in (*early, *answers, late)] == [OPENING] * 3 + [ANSWERING] * 2 + [SETTLED]
    assert ben.unseal(late) == b"late"
    refused(ben, early[2])
    assert anna.unseal(ben.seal(b"c")) == b"c"
    refused(anna, answers[1])


def of_each_kind() -> list[tuple[bytes, Callable[[bytes], bytes]]]:
    """A box of each kind, and what opens it: an opening for a new end and for one that is there, and so on."""
    anna, ben = opened()
    other = Channel.opening(ANNA, BEN.public, CONTEXT)
    cases = [
        (anna.seal(b"second"), ben.unseal),
        (other.seal(b"new"), lambda envelope: Channel.answering(BEN, envelope, CONTEXT)[1]),
    ]
    cases.append((ben.seal(b"answer"), anna.unseal))
    heard, answered = opened()
    heard.unseal(answered.seal(b""))
    cases.append((answered.seal(b"answer again"), heard.unseal))
    cases.append((heard.seal(b"settled"), answered.unseal))
    there, back = settled()
    return [*cases, (there.seal(b"there"), back.unseal), (back.seal(b"back"), there.unseal)]


def test_a_box_with_any_bit_altered_or_any_byte_short_is_refused_and_changes_nothing() -> None:
    """Every bit of a box of every kind; behind all of that the true one still opens."""
    kinds = set()
    for envelope, unseal in of_each_kind():
        kinds.add(envelope[:1])
        altered = [
            envelope[:at] + bytes([envelope[at] ^ 1 << bit]) + envelope[at + 1 :]
            for at in range(len(envelope))
            for bit in range(8)
        ]
        for wrong in (*altered, *(envelope[:length] for length in range(len(envelope))), envelope + b"\0"):
            with pytest.raises(BadMessage):
                unseal(wrong)
        assert unseal(envelope) in {b"second", b"new", b"answer", b"answer again", b"settled", b"there", b"back"}
    assert kinds == {OPENING, ANSWERING, SETTLED}


def test_a_box_of_one_kind_is_none_of_another() -> None:
    """With the keys before it taken away, or put there: the relay cannot end a handshake, nor begin one."""
    anna, ben = opened()
    opening, answer = anna.seal(b"opening"), ben.seal(b"answer")
    assert anna.unseal(answer) == b"answer"
    again = ben.seal(b"again")
    refused(anna, SETTLED + again[33:])
    assert anna.unseal(again) == b"again"
    last = anna.seal(b"last")
    refused(ben, opening[:81] + last[1:])
    refused(ben, SETTLED + opening[81:])
    assert ben.unseal(opening) == b"opening"
    assert ben.unseal(last) == b"last"
    settled_box = ben.seal(b"settled")
    refused(anna, again[:33] + settled_box[1:])
    assert anna.unseal(settled_box) == b"settled"


def test_a_forged_answer_leaves_the_opener_as_it_was() -> None:
    """It goes on as if nothing had come: what it seals then is opened, and the true answer, too."""
    anna, ben = opened()
    answer = ben.seal(b"answer")
    refused(anna, answer[:1] + EVE.public + answer[33:])
    envelope = anna.seal(b"go on")
    assert envelope[:1] == OPENING
    assert ben.unseal(envelope) == b"go on"
    assert anna.unseal(answer) == b"answer"


def test_a_box_opens_once_and_behind_no_later_one() -> None:
    """Replayed at once, replayed later, and overtaken: refused, in both directions and of every kind."""
    anna, ben = opened()
    first = anna.seal(b"first")
    assert ben.unseal(first) == b"first"
    for sender, receiver in itertools.islice(itertools.cycle([(ben, anna), (anna, ben)]), 8):
        overtaken, envelope = sender.seal(b"overtaken"), sender.seal(b"in time")
        assert receiver.unseal(envelope) == b"in time"
        refused(receiver, envelope)
        refused(receiver, overtaken)
        refused(ben, first)


def test_the_box_that_opened_a_channel_does_not_open_in_it_again() -> None:
    anna = Channel.opening(ANNA, BEN.public, CONTEXT)
    envelope = anna.seal(b"once")
    ben, _ = Channel.answering(BEN, envelope, CONTEXT)
    refused(ben, envelope)


@pytest.mark.parametrize("pair", [opened, settled])
def test_a_box_comes_back_to_nobody(pair: Callable[[], tuple[Channel, Channel]]) -> None:
    """What an end sealed does not open at that end, and its own opening is none for it."""
    for end in pair():
        refused(end, end.seal(b"mine"))
    with pytest.raises(BadMessage):
        Channel.answering(ANNA, Channel.opening(ANNA, BEN.public, CONTEXT).seal(b"mine"), CONTEXT)


def test_a_channel_to_oneself_has_two_directions_too() -> None:
    """The same long-lived key at both ends: a reflected box is refused all the same."""
    there = Channel.opening(ANNA, ANNA.public, CONTEXT)
    back, _ = Channel.answering(ANNA, there.seal(b""), CONTEXT)
    assert there.unseal(back.seal(b"x")) == b"x"
    assert back.unseal(there.seal(b"y")) == b"y"
    for end in (there, back):
        refused(end, end.seal(b"mine"))


def test_a_box_of_another_context_or_another_key_is_refused() -> None:
    """Of another session, of other names, for somebody else, from somebody else; openings and later ones."""
    for context in (b"", b"session 8: anna asks ben", b"session 7: eve asks ben", CONTEXT + b"\0", CONTEXT[:-1]):
        with pytest.raises(BadMessage):
            Channel.answering(BEN, Channel.opening(ANNA, BEN.public, CONTEXT).seal(b"x"), context)
        for one, other in itertools.product(settled(), settled(context)):
            refused(other, one.seal(b"x"))
    with pytest.raises(BadMessage):
        Channel.answering(EVE, Channel.opening(ANNA, BEN.public, CONTEXT).seal(b"x"), CONTEXT)
    anna = Channel.opening(ANNA, BEN.public, CONTEXT)
    eve, _ = Channel.answering(EVE, Channel.opening(ANNA, EVE.public, CONTEXT).seal(b""), CONTEXT)
    refused(anna, eve.seal(b"I am ben"))


def test_the_peer_is_who_holds_the_key() -> None:
    """Who opens without the key of a machine is not taken for it, whatever of its boxes is put together anew."""
    envelope, other = (Channel.opening(ANNA, BEN.public, CONTEXT).seal(b"x") for _ in range(2))
    eves = Channel.opening(EVE, BEN.public, CONTEXT).seal(b"x")
    assert Channel.answering(BEN, eves, CONTEXT)[0].peer == EVE.public
    for at in (33, 81):  # another's sealed key, another's text
        for one, another in itertools.permutations((envelope, other, eves), 2):
            with pytest.raises(BadMessage):
                Channel.answering(BEN, one[:at] + another[at:], CONTEXT)
            with pytest.raises(BadMessage):
                Channel.answering(BEN, another[:33] + one[33:81] + another[81:], CONTEXT)


def test_keys_of_small_order_open_and_answer_nothing() -> None:
    """Where the other end's key would make a secret that everybody knows; and what has no key's length."""
    anna, ben = opened()
    answer, opening = ben.seal(b"x"), Channel.opening(ANNA, BEN.public, CONTEXT).seal(b"x")
    for key in (*SMALL_ORDER, b"", bytes(31), bytes(33)):
        with pytest.raises(BadMessage):
            Channel.opening(ANNA, key, CONTEXT)
    for key in SMALL_ORDER:
        refused(anna, answer[:1] + key + answer[33:])
        with pytest.raises(BadMessage):
            Channel.answering(BEN, opening[:1] + key + opening[33:], CONTEXT)
    assert anna.unseal(answer) == b"x"


def test_two_channels_never_share_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do two directions, nor an opening and what comes behind an answer: every key seals for one use alone."""
    uses: list[tuple[bytes, bytes]] = []
    name = "crypto_aead_xchacha20poly1305_ietf_encrypt"
    plain = getattr(sealing, name)

    def recorded(text: bytes, clear: bytes, nonce: bytes, key: bytes) -> bytes:
        uses.append((key, nonce))
        return bytes(plain(text, clear, nonce, key))

    monkeypatch.setattr(sealing, name, recorded)
    for _ in range(20):
        anna, ben = settled()
        anna.seal(b"x")
        ben.seal(b"x")
    assert len({key for key, _ in uses}) == 20 * 4  # who opens, the opening, and one each way
    assert len(set(uses)) == len(uses)


class Thief:
    """Has recorded every box, stolen both long-lived keys later, and follows the construction with what these give."""

    def __init__(self, opening: bytes, answer: bytes) -> None:
        self.opener, self.answerer = opening[1:33], answer[1:33]
        self.own = {name: key._secret for name, key in (("anna", ANNA), ("ben", BEN))}
        es, ss = self._shared("ben", self.opener), self._shared("ben", ANNA.public)
        self._chain = sealing._mixed(sealing._begun(CONTEXT, BEN.public, self.opener, es), ss, ANNA.public)
        self._se = self._shared("anna", self.answerer)
        known = [ANNA.public, BEN.public, self.opener, self.answerer]
        self.computable = {crypto_scalarmult(own, key) for own in self.own.values() for key in known}

    def _shared(self, whose: str, key: bytes) -> bytes:
        return crypto_scalarmult(self.own[whose], key)

    def opening_key(self) -> bytes:
        return sealing._key(self._chain, b"opening")

    def later_keys(self, ee: bytes) -> list[bytes]:
        chain = sealing._settled(self._chain, ee, self._se, self.answerer)
        return [sealing._key(chain, use) for use in (b"to the opener", b"to the answerer")]


def opens(key: bytes, envelope: bytes, front: int) -> bool:
    try:
        sealing._unsealed(key, envelope[front : front + 8], envelope[: front + 8], envelope[front + 8 :])
    except BadMessage:
        return False
    return True


def test_stolen_keys_do_not_open_what_was_recorded_behind_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every Diffie-Hellman that they give in the place of ee; the opening itself, as the page says, they open."""
    shared: dict[bytes, bytes] = {}
    plain = sealing._settled

    def watched(chain: bytes, ee: bytes, se: bytes, ephemeral: bytes) -> bytes:
        shared[ephemeral] = ee
        return plain(chain, ee, se, ephemeral)

    monkeypatch.setattr(sealing, "_settled", watched)
    anna = Channel.opening(ANNA, BEN.public, CONTEXT)
    opening = anna.seal(b"question")
    ben, _ = Channel.answering(BEN, opening, CONTEXT)
    answer = ben.seal(b"answer")
    anna.unseal(answer)
    later = anna.seal(b"draft")
    thief, envelopes = Thief(opening, answer), [(answer, 33), (later, 1)]
    assert opens(thief.opening_key(), opening, 81)
    ee = shared[thief.answerer]
    assert ee not in thief.computable
    for guess in (*thief.computable, b"", bytes(32)):
        assert not any(opens(key, envelope, front) for key in thief.later_keys(guess) for envelope, front in envelopes)
    assert [
        opens(key, envelope, front) for key, (envelope, front) in zip(thief.later_keys(ee), envelopes, strict=True)
    ] == [True] * 2


def test_without_the_ephemeral_secret_the_thief_would_read_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law above can fail: of a construction that leaves ee out the same thief opens every box."""
    plain = sealing._settled
    monkeypatch.setattr(sealing, "_settled", lambda chain, _, se, ephemeral: plain(chain, b"", se, ephemeral))
    anna = Channel.opening(ANNA, BEN.public, CONTEXT)
    opening = anna.seal(b"question")
    ben, _ = Channel.answering(BEN, opening, CONTEXT)
    answer = ben.seal(b"answer")
    anna.unseal(answer)
    thief = Thief(opening, answer)
    assert any(opens(key, anna.seal(b"draft"), 1) for key in thief.later_keys(b"any"))
    assert any(opens(key, answer, 33) for key in thief.later_keys(b"any"))


def test_who_has_the_answerers_key_alone_does_not_go_on_in_anothers_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """An opening in Anna's name can be made with Ben's stolen key; what comes back, and what is to follow, cannot."""
    forged = SealingKey.fresh()
    monkeypatch.setattr(
        forged, "shared", lambda peer: BEN.shared(ANNA.public) if peer == BEN.public else EVE.shared(peer)
    )
    forged.public = ANNA.public
    eve = Channel.opening(forged, BEN.public, CONTEXT)
    ben, text = Channel.answering(BEN, eve.seal(b"I am anna"), CONTEXT)
    assert (text, ben.peer) == (b"I am anna", ANNA.public)
    refused(eve, ben.seal(b"for anna alone"))


def test_a_box_is_a_little_longer_than_its_text() -> None:
    """By a constant, whatever it holds."""
    anna, ben = opened()
    for text in (b"", b"x", bytes(70_000)):
        assert len(anna.seal(text)) - len(text) == OVERHEAD_BYTES + 80
        assert len(ben.seal(text)) - len(text) == OVERHEAD_BYTES + 32
    there, back = settled()
    assert {len(end.seal(bytes(500))) - 500 for end in (there, back)} == {OVERHEAD_BYTES} == {25}


def test_arbitrary_bytes_are_refused() -> None:
    """Of every first byte and many lengths, by an end that waits, one that is settled, and one that is asked anew."""
    rng = random.Random(2)
    waiting, _ = opened()
    _, there = settled()
    for first, length in itertools.product(range(256), (0, 1, 24, 25, 57, 105, 200)):
        envelope = bytes([first]) + rng.randbytes(length)
        refused(waiting, envelope)
        refused(there, envelope)
        with pytest.raises(BadMessage):
            Channel.answering(BEN, envelope, CONTEXT)
    refused(waiting, b"")


def test_a_machines_key_is_its_secrets_and_shows_it_nowhere() -> None:
    """The same from the same secret, another from another; neither the CURVE secret nor the sealing one is shown."""
    secret = "abcdefghij" * 4
    key = SealingKey.of_secret(secret)
    assert key.public == SealingKey.of_secret(secret).public != SealingKey.of_secret(secret[::-1]).public
    assert SealingKey.fresh().public != SealingKey.fresh().public
    own: bytes = key._secret
    assert not any(each in repr(key) for each in (secret, own.hex(), repr(own)))
    assert own not in secret.encode()
    with pytest.raises(CryptoError):
        crypto_scalarmult(own, bytes(32))
