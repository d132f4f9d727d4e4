"""Sessions with other devices of the group, in sealed envelopes that pass through the cloud, which cannot open them.

This device leads some of them, and drafts along in others where its owner names the leader in [egress] drafts_for.
Everything runs on the main thread.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

import msgpack
import msgspec
import structlog

from hocket_bus import wire
from hocket_bus.errors import BadMessage, Forbidden, HocketError, Unavailable
from hocket_bus.faults import notice_text, refused
from hocket_bus.log import RateLimitedLog
from hocket_bus.messages import (
    MAX_ENVELOPE_BYTES,
    Begin,
    DataClass,
    FindMembers,
    FoundMember,
    MemberOutcome,
    MembersFound,
    Message,
    Sealed,
    Sources,
    Unreached,
)
from hocket_bus.sockets import Link, Received, Routes
from hocket_bus.trust.pins import Pins, fingerprint
from hocket_bus.trust.sealing import Channel, SealingKey

from ...monitoring.counters import labelled
from ...privacy.egress import EgressSettings, Ledger, PeerGate
from ..mode import Peer
from .openings import Openings
from .peer_group import Take

ANYBODY = "*"
Way = Peer | Link  # to the cloud
_TOLD: frozenset[DataClass] = frozenset(("drafts", "sources"))  # where [egress] drafts_for allows: see Draft, Sources
MAX_HISTORIES = 16  # members of whom figures are told
MAX_FOUND = 256  # questions after members that are waited for
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class SealedPeer:
    """A device as the peer in one session. Messages are checked and counted by their own class, and travel sealed."""

    user: str
    session: bytes
    key: bytes
    rtt_s: float
    _own: SealingKey
    link: Way
    _gate: PeerGate
    channel: Channel | None = None
    reason: HocketError | None = None
    aggregates: bool = True
    tokenizer: str = ""
    first_tokens_s: Sequence[float] = ()

    @property
    def up(self) -> bool:
        """Tell whether sealed envelopes leave this device now."""
        return self.link.up

    @property
    def silence_s(self) -> float:
        """Seconds of silence of the link; members that cannot be reached behind it are reported by the cloud."""
        return self.link.silence_s

    def send(self, message: Message) -> None:
        """Check, seal and send a message; an opening begins a new channel. Raises Forbidden where it must not leave."""
        self._gate.check(message)
        if isinstance(message, Begin):
            self.channel = Channel.opening(self._own, self.key, self.session)
        self._gate.count(message, self._send_envelope(_packed(_as_it_leaves(message))))

    def sign(self) -> None:
        """Send an empty envelope: this device takes part, and reads."""
        self._gate.add("control", self.session, self._send_envelope(b""))

    def _send_envelope(self, text: bytes) -> int:
        """Send an envelope that holds `text`; return its size in bytes."""
        assert self.channel is not None
        envelope = self.channel.seal(text)
        self.link.send(Sealed(session=self.session, member=self.user, payload=envelope))
        return len(envelope)


@dataclass(slots=True)
class _Participant:
    """A member of a session that this device leads, and the callback for what comes from it."""

    peer: SealedPeer
    take: Take


@dataclass(slots=True)
class MemberHistory:
    """A member's totals since the start: answers, tokens it had a part in, those that its drafts were, and drafts."""

    answers: int = 0
    tokens: int = 0
    accepted: int = 0
    drafts: int = 0

    def fact(self, rtt_s: float | None) -> str:
        """Return the totals in words, with the round trip to the member if it is known."""
        away = f"{1000 * rtt_s:.0f} ms away, " if rtt_s is not None else ""
        share = f", {self.accepted / self.tokens:.0%} accepted" if self.tokens else ""
        return f"{away}{self.drafts} drafts in {self.answers} answers{share}"


class SealedPeerGroup:
    """The peer group of a device that has a key and a link."""

    def __init__(
        self,
        own: SealingKey,
        pins: Pins,
        openings: Openings,
        egress: EgressSettings,
        *,
        ledger: Ledger,
    ) -> None:
        """Begin without sessions; `openings` handles those that other devices open here."""
        self._own, self._pins = own, pins
        self._openings, self._egress, self._ledger = openings, egress, ledger
        self._finding: dict[bytes, Callable[[MembersFound | HocketError], None]] = {}
        self._led: dict[tuple[bytes, str], _Participant] = {}
        self._followed: dict[tuple[bytes, str], SealedPeer] = {}
        self._histories: dict[str, MemberHistory] = {}
        self._rtts_s: dict[str, float] = {}  # to members, as the cloud has told last
        self._bad_envelopes = RateLimitedLog(log, "bad sealed box")
        self._not_told = RateLimitedLog(log, "no drafts for a device")

    def add_to(self, at_peer: Routes) -> None:
        """Register the handlers for the cloud's messages."""
        at_peer.add([MembersFound], self._on_found)
        at_peer.add([Sealed], self._on_sealed)
        at_peer.add([Unreached], self._on_unreached)

    # --- led here

    def find(self, cloud: Peer, asked: FindMembers, done: Callable[[MembersFound | HocketError], None]) -> None:
        """See `PeerGroup`."""
        if len(self._finding) >= MAX_FOUND:
            done(Unavailable("too many questions wait for members", "ask again"))
            return
        self._finding[asked.session] = done
        try:
            cloud.send(asked)
        except HocketError as error:
            del self._finding[asked.session]
            done(error)

    def participant(
        self, cloud: Peer, session: bytes, member: FoundMember, take: Take, notify: Callable[[str], None]
    ) -> Peer:
        """See `PeerGroup`."""
        if self._is_new(member.name, member.key):
            notify(_of_new(member.name, member.key))
        self._rtts_s[member.name] = member.rtt_s
        peer = self._peer(cloud, session, member)
        self._led[session, member.name] = _Participant(peer, take)
        return peer

    def record_outcome(self, member: MemberOutcome) -> None:
        """See `PeerGroup`."""
        known = self._histories.pop(member.name, MemberHistory())
        self._histories[member.name] = known  # the latest last
        while len(self._histories) > MAX_HISTORIES:
            del self._histories[next(iter(self._histories))]
        turns = sum(member.steps[1::2]) - sum(member.steps[::2])
        known.answers += 1
        known.drafts += member.drafts
        known.tokens += turns
        known.accepted += round(turns * (member.accept or 0.0))

    def facts(self) -> dict[str, str]:
        """Return lines for `hocket status`."""
        for_whom = ("members pinned by hand" if name == ANYBODY else name for name in self._egress.drafts_for)
        lines = [f"{name} {history.fact(self._rtts_s.get(name))}" for name, history in sorted(self._histories.items())]
        return {
            "drafts leave for": ", ".join(for_whom) or "nobody",
            "members met": notice_text("; ".join(lines) or "none yet"),
            "members not pinned by hand": notice_text(self._unconfirmed() or "none"),
        }

    def _unconfirmed(self) -> str:
        try:
            pinned, by_hand = self._pins.names(), self._pins.by_hand()
        except HocketError as error:
            return str(error)
        return "; ".join(f"{name} {fingerprint(key)}" for name, key in sorted(pinned.items()) if name not in by_hand)

    def metrics(self) -> dict[str, float]:
        """Return the same facts as numbers, for programs."""
        found = {}
        for name, history in self._histories.items():
            found[labelled("member_tokens_total", member=name)] = float(history.tokens)
            found[labelled("member_accepted_total", member=name)] = float(history.accepted)
            if name in self._rtts_s:
                found[labelled("member_rtt_s", member=name)] = self._rtts_s[name]
        return found

    def leave(self, session: bytes) -> None:
        """See `PeerGroup`."""
        self._finding.pop(session, None)
        for key in [key for key in self._led if key[0] == session]:
            del self._led[key]

    def _peer(self, cloud: Way, session: bytes, member: FoundMember, channel: Channel | None = None) -> SealedPeer:
        told = _TOLD if channel is not None else frozenset[DataClass]()
        gate = PeerGate(self._egress, f"{member.name}, sealed", self._ledger, also=told)
        return SealedPeer(member.name, session, member.key, member.rtt_s, self._own, cloud, gate, channel)

    def _is_new(self, name: str, key: bytes) -> bool:
        """Tell whether this key of a device was never seen before, and pin it. Raises as `Pins.check` does."""
        is_new = self._pins.check(name, key)
        if is_new:
            log.warning("a device of the group is new", notice=_of_new(name, key))
        return is_new

    def _on_found(self, event: Received) -> None:
        found = event.message
        assert isinstance(found, MembersFound)
        done = self._finding.pop(found.session, None)
        if done is not None:
            done(found)

    # --- boxes

    def _on_sealed(self, event: Received) -> None:
        envelope, link = event.message, event.port
        assert isinstance(envelope, Sealed)
        assert isinstance(link, Link)
        try:
            participant = self._led.get((envelope.session, envelope.member))
            if participant is not None:
                self._on_answer(participant, envelope)
            else:
                self._on_asked(envelope, link)
        except HocketError as error:
            self._bad_envelopes.note(device=envelope.member, error=str(error))

    def _on_answer(self, participant: _Participant, envelope: Sealed) -> None:
        text = _unsealed(participant.peer, envelope)
        participant.take(_unpacked(text) if text else None)

    def _on_asked(self, envelope: Sealed, link: Link) -> None:
        """Handle an envelope of a session that another device leads: an opening, or what follows one."""
        peer = self._followed.get((envelope.session, envelope.member))
        if peer is not None:
            try:
                text = _unsealed(peer, envelope)
            except BadMessage:
                self._on_opening(envelope, link)  # the leader may have begun anew
            else:
                peer.link = link  # of several cloud daemons, the one that the leader is with
                self._openings.take(_unpacked(text), peer)
        else:
            self._on_opening(envelope, link)

    def _on_opening(self, envelope: Sealed, link: Link) -> None:
        if len(envelope.payload) > MAX_ENVELOPE_BYTES:
            raise BadMessage("a sealed box over the size limit")
        channel, text = Channel.answering(self._own, envelope.payload, envelope.session)
        opening = _unpacked(text)
        if not isinstance(opening, Begin) or opening.session != envelope.session:
            raise BadMessage("a sealed session that does not begin with its opening")
        leader = FoundMember(name=envelope.member, key=channel.peer, rtt_s=opening.rtt_s)
        peer = self._peer(link, envelope.session, leader, channel)
        try:
            self._check_allowed(envelope.member, channel.peer)
        except HocketError as error:
            self._not_told.note(device=envelope.member, reason=str(error))
            reply = Forbidden(error.text)  # what to do about it is for its own owner
            peer.send(refused(reply, opening.session, opening.epoch))
            return
        self._followed = {key: each for key, each in self._followed.items() if self._openings.follows(*key)}
        self._followed[envelope.session, envelope.member] = peer
        peer.sign()
        self._openings.take(opening, peer)

    def _check_allowed(self, name: str, key: bytes) -> None:
        """Check that drafts may leave for a device.

        Raises Forbidden, and as `Pins.check` does. An opening pins no device that the owner has not named.
        """
        if name in self._egress.drafts_for:
            self._is_new(name, key)
        elif ANYBODY not in self._egress.drafts_for:
            raise Forbidden(f"its owner does not allow drafts for {name}")
        elif not self._pins.is_by_hand(name, key):
            remedy = (
                f"if the fingerprint is right, its owner runs: hocket keys pin {shlex.quote(name)} {fingerprint(key)}"
            )
            raise Forbidden(f"its owner has not pinned {name} by hand", remedy)

    def _on_unreached(self, event: Received) -> None:
        lost = event.message
        assert isinstance(lost, Unreached)
        participant = self._led.get((lost.session, lost.member))
        if participant is not None:
            participant.take(Unavailable(f"{lost.member} {lost.why}"))
        elif self._followed.pop((lost.session, lost.member), None) is not None:
            self._openings.drop(lost.session, lost.member)


def _unsealed(peer: SealedPeer, envelope: Sealed) -> bytes:
    if len(envelope.payload) > MAX_ENVELOPE_BYTES or peer.channel is None:
        raise BadMessage("an unexpected sealed box")
    return peer.channel.unseal(envelope.payload)


def _as_it_leaves(message: Message) -> Message:
    """Return a message as it leaves: documents by the names of their files alone, which keeps their folders private."""
    if not isinstance(message, Sources):
        return message
    places = [msgspec.structs.replace(place, document=PurePath(place.document).name) for place in message.places]
    return msgspec.structs.replace(message, places=places)


def _of_new(name: str, key: bytes) -> str:
    """Return the notice that a device was seen for the first time."""
    shown = fingerprint(key)
    text = f"{name} is new in the group, with the fingerprint {shown} according to the cloud"
    return notice_text(f"{text}: compare it with its owner, then run: hocket keys pin {shlex.quote(name)} {shown}")


def _packed(message: Message) -> bytes:
    packed: bytes = msgpack.packb(wire.encode(message))
    return packed


def _unpacked(text: bytes) -> Message:
    """Unpack a message. Raises BadMessage."""
    try:
        frames = msgpack.unpackb(text, max_array_len=wire.MAX_FRAMES, max_bin_len=MAX_ENVELOPE_BYTES)
    except (ValueError, msgpack.UnpackException) as error:
        raise BadMessage("a sealed box without a message") from error
    if not isinstance(frames, list) or not all(isinstance(frame, bytes) for frame in frames):
        raise BadMessage("a sealed box without a message")
    return wire.decode(frames)
