"""The device daemon: answers its clients together with the cloud."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import structlog
from msgspec import structs

from hocket_bus import config, log, paths
from hocket_bus.endpoints import check_endpoint
from hocket_bus.errors import BadConfiguration, HocketError, ProtocolError, Unavailable
from hocket_bus.faults import error_message
from hocket_bus.messages import End, Hello, LinkSwitched, Message, SwitchLink
from hocket_bus.sockets import Link, LinkDown, LinkDraining, LinkUp, Received
from hocket_bus.trust.keys import Keys, exist
from hocket_bus.trust.pins import Pins
from hocket_bus.trust.sealing import SealingKey

from ..config import DeviceSettings
from ..engine.generators.server import server_of
from ..engine.opening.engines import open_model
from ..engine.runtime.compute import Compute
from ..graph.graph_device import GraphDevice
from ..monitoring.counters import labelled
from ..privacy.budget import PrivacyBudget
from ..privacy.disclosure_account import DisclosureAccount, DisclosureBounds
from ..privacy.egress import TO_REMEMBER, TO_SHARE, PeerGate, ServerPolicy, fact, obstacle
from ..privacy.link_switch import CUT, LinkSwitch
from ..profiling.decode_times import link_fact, network_facts
from ..serving.cluster import CloudLink, Cluster, ClusterPeer, OnPeer
from ..serving.disclosure import Disclosure
from ..serving.mode import Peer
from ..serving.peers.openings import Openings
from ..serving.peers.peers import Unlinked
from ..serving.peers.sealed_peer_group import SealedPeerGroup
from ..serving.records.accounting import Accounting
from ..serving.services import Services
from .daemon import Daemon
from .membership import BY_LIST, CloudMember, MemberList, check_successor, read
from .modes import composing, composition, drafting_along
from .parts import PRODUCT, Parts

NO_WORDS = (
    'drafts = "words" needs a model on this device that writes words: one whose tokenizer is byte-level BPE',
    "set drafts = false under [egress], or name another model (hocket model list)",
)
SILENCE_S = 30.0  # of another device, behind which a session that it leads is freed
logger = structlog.get_logger(__name__)


class DeviceDaemon(Daemon):
    """The device daemon, which has links to the cloud and hands its messages to the sessions that this side leads."""

    def __init__(self, settings: DeviceSettings, parts: Parts = PRODUCT) -> None:
        self._cloud = settings.cloud
        self._egress = settings.egress
        self._own_settings = settings
        self.cluster = Cluster()
        self._switch = LinkSwitch(Path(settings.egress.ledger) if settings.egress.ledger else None)
        self._members: MemberList | None = None  # as last read
        self._missed: dict[str, str] = {}  # why the cloud was not there last, as it was logged, by endpoint
        self._sealing_key = _sealing_key(settings)
        if settings.cloud not in ("", BY_LIST):
            check_endpoint(settings.cloud)
        server_of(settings.server)  # a wrong one is told before a model is loaded
        super().__init__(
            settings,
            "device",
            parts,
            shares_drafts=settings.egress.drafts is True,
            shares_bridges=settings.egress.bridges,
            silence_s=SILENCE_S,
            history=settings.egress.history,
        )

    def connect(self) -> None:
        """Dial the cloud, unless there is none or nothing may leave; accept the texts that clients compose."""
        if self.services.account is not None and not self.services.words:
            raise BadConfiguration(*NO_WORDS)
        sharing = obstacle(self._egress, TO_SHARE)
        if self._cloud and None in (sharing, obstacle(self._egress), obstacle(self._egress, TO_REMEMBER)):
            self._dial()
            sharing = None  # who may share no summaries tells the cloud that, if it is connected for anything else
        self._sharing_peer = self._cloud_for(sharing)
        hindered = obstacle(self._egress)
        self.peer = self.cluster.peer if self._cloud and hindered is None else lambda: self._cloud_for(hindered)
        self._graph = GraphDevice(
            self.services.retrieval,
            self.server,
            self._sharing_peer,
            self._egress,
            minimum=self.settings.aggregation.min_evidence,
        )
        self._graph.add_to(self.at_server, self.at_peer)
        if self.cluster.links:
            self.peer_group = self._open_peer_group()
        self.duties.append(self._graph)
        name, why = composing(self._own_settings, self.services.model)
        services = self._composing(name, why)
        self._composition = composition(self, services, self.server, self.sessions, self._own_settings, why=why)
        self._composition.add_to(self.at_server)
        self.at_server.add([SwitchLink], self._on_switch)
        for mode in self.modes.peers.values():
            self.at_peer.add(mode.answers, self.sessions.on_answer)
        self.board.add_for_users(facts=[self._cloud_facts])
        self.board.add(
            facts=[lambda: network_facts("" if self._cloud == BY_LIST else self._cloud)], metrics=[self._cloud_metrics]
        )
        self.board.add(facts=[self._composition.facts], metrics=[self._composition.metrics])
        self.board.add(facts=[self._graph.facts], metrics=[self._graph.metrics])
        account, bounds = self.services.account, self._disclosure_bounds()
        Accounting(account, self.ledger.path, bounds, self.server).add_to(self.at_server)
        if self.services.account is not None:
            self.board.add(facts=[self.services.account.facts], metrics=[self.services.account.metrics])

    def _open_peer_group(self) -> SealedPeerGroup:
        """Open the group in which this device meets other devices."""
        openings = Openings(self.services, self.server, self.sessions, drafting_along(self.modes), self.check_taking)
        lasts = exist(_key_folder(self._own_settings))  # otherwise the own key, too, is another one at every start
        pins = Pins.beside(self.ledger.path if lasts else None)
        peer_group = SealedPeerGroup(self._sealing_key, pins, openings, self._egress, ledger=self.ledger)
        peer_group.add_to(self.at_peer)
        self.board.add(facts=[peer_group.facts], metrics=[peer_group.metrics])
        return peer_group

    def _composing(self, name: str, why: str) -> Services:
        """Return the services for composing texts: with a model and a thread of their own, where a model is named."""
        if why:
            logger.info("composition", model=name or self.services.model.name, why=why)
        if not name:
            return self.services
        model = open_model(structs.replace(self.settings.model, name=name, engine="auto"), "device")
        compute = Compute(self.bus.post, model.read)
        self._opened.callback(compute.close)
        return replace(self.services, model=model, compute=compute)

    def server_policy(self) -> ServerPolicy:
        """Return the policy of [egress], with the switch that cuts the link."""
        return ServerPolicy(self._egress, self.ledger, self._switch)

    def open_disclosure(self) -> Disclosure | None:
        """Return the bounds of [group]; None where it sets none."""
        group = self._own_settings.group
        if not group.most_bits:
            return None
        budget = PrivacyBudget(self.ledger.path, group.bits_a_day) if group.bits_a_day else None
        return Disclosure(group.most_bits, budget)

    def open_account(self) -> DisclosureAccount | None:
        """Return the account of [egress]; None unless words are all that leaves of drafts."""
        if self._egress.drafts != "words":
            return None
        return DisclosureAccount(self.ledger.path, self._disclosure_bounds())

    def _disclosure_bounds(self) -> DisclosureBounds:
        return DisclosureBounds(self._egress.bits_a_day, self._egress.bits_a_document)

    def memory_peer(self) -> Peer | None:
        """Return the cloud as a peer for what may be asked of it while a text is composed; None without a cloud."""
        return self._cloud_for(obstacle(self._egress, TO_REMEMBER))

    def _cloud_for(self, hindered: HocketError | None) -> Peer | None:
        if not self._cloud:
            return None
        return self.cluster.peer() if hindered is None else Unlinked(hindered)

    # --- links

    def reload(self) -> None:
        """Reload, and take over a newer list of cloud daemons; if it cannot be read, the present ones stay."""
        super().reload()
        if self.cluster.links:
            try:
                self._dial()
            except HocketError as error:
                logger.warning("cloud daemons not read again", reason=str(error))

    def _dial(self) -> None:
        """Link to this device's candidates, and to nobody else."""
        former = {(each.link.endpoint, each.key): each for each in self.cluster.links}
        links = []
        for member in self._candidates():
            known = former.pop((member.endpoint, member.key), None)
            links.append(known or CloudLink(self._dialled(member), member.key))
            links[-1].capacity = member.capacity
        self.cluster.links = links
        for gone in former.values():
            self.bus.hang_up(gone.link, Unavailable(f"{gone.link.endpoint} no longer serves this device"))

    def _dialled(self, member: CloudMember) -> Link:
        hello = Hello(
            role="device",
            tokenizer=self.services.model.fingerprint,
            name=self.settings.name,
            sealing_key=self._sealing_key.public,
            words=self.services.words,
        )
        gate = PeerGate(self._egress, member.endpoint, self.ledger)
        link = self.bus.dial(member.endpoint, hello, gate=gate, takes=self.at_peer, key=member.key)
        if self._switch.is_cut:
            self.bus.post(partial(link.cut, CUT))  # in the loop's next turn, before it connects
        return link

    def _on_switch(self, event: Received) -> None:
        request = event.message
        assert isinstance(request, SwitchLink)
        logger.info("link cut" if request.cut else "link joined")
        reply: Message = LinkSwitched(request=request.request, cut=request.cut)
        try:
            self._switch.turn(cut=request.cut)
        except Unavailable as error:
            reply = error_message(error, request.request)
        if request.cut:
            self._cut_links()
        else:
            self._join_links()
        self.server.send(event.route, reply)

    def _cut_links(self) -> None:
        links = [each.link for each in self.cluster.links]
        for link in links:
            link.up = False  # before the first is cut, so that no session moves to another one
        for link in links:
            link.cut(CUT)

    def _join_links(self) -> None:
        for each in self.cluster.links:
            each.link.join()

    def _candidates(self) -> list[CloudMember]:
        """Return the configured cloud, whose key the peers have, or those of the list. Raises BadConfiguration."""
        if self._cloud != BY_LIST:
            return [CloudMember(self._cloud, key="", model="", capacity=1)]
        folder = Path(self.settings.keys) if self.settings.keys else paths.keys()
        members = read(folder)
        if members is None:
            raise BadConfiguration(f"no list of cloud daemons in {folder}", "install one: hocket members take FILE")
        if self._members is not None:
            check_successor(members, self._members)
        by_words = bool(self.services.words) and self.settings.aggregation.unit != "token"
        found = members.candidates(Keys(folder).own.public, self.services.model.fingerprint, by_words=by_words)
        if not found:
            text = "no cloud daemon of the list has a model with this device's tokenizer"
            raise BadConfiguration(text, "choose a model of the same family, see: hocket members list")
        self._members = members
        return found

    def _with_cloud(self) -> list[tuple[ClusterPeer, OnPeer, bytes]]:
        """Return each party that is with a cloud daemon: its peer, its callback, and its session's number, if any."""
        graph = (self._sharing_peer, lambda up, _: self._graph.on_peer(up), b"")
        led = [(each.peer, each.session.on_peer, each.session.id) for each in self.sessions.open_led()]
        return [(peer, on_peer, number) for peer, on_peer, number in [graph, *led] if isinstance(peer, ClusterPeer)]

    def _leave_draining(self) -> None:
        """Move parties away from a daemon that drains, if there is another one; until then they go on there."""
        for peer, on_peer, session in self._with_cloud():
            left = peer.link
            reason = Unavailable(f"the cloud daemon at {left.endpoint} is stopping")
            if left.draining and peer.move(reason, on_peer) and session:
                left.send(End(session=session, reason="moved", tokens=0))

    def close(self) -> None:
        """Close, and write down what was disclosed of documents today, for the next start."""
        super().close()
        if self.disclosure is not None and self.disclosure.budget is not None:
            self.disclosure.budget.write()
        if self.services.account is not None:
            self.services.account.write()

    def idle(self) -> bool:
        """Tell whether no request is in progress; a text that stays open in an editor is none."""
        return len(self.sessions) <= self._composition.at_rest

    def tick(self, now: float) -> None:
        """Do what is due, and close texts whose clients have gone."""
        super().tick(now)
        self._composition.tick(self.settings.client_silence_s)

    def on_peer_link(self, event: LinkUp | LinkDown | LinkDraining) -> None:
        """Tell all parties that are with that daemon, or may be from now on."""
        link = event.link
        assert isinstance(link, Link)
        if isinstance(event, LinkUp):
            logger.info("cloud connected", rtt_ms=round(link.rtt_s * 1000, 2), model=event.welcome.model)
        elif isinstance(event, LinkDown) and str(event.reason) != self._missed.get(link.endpoint):
            logger.warning("cloud not connected", reason=str(event.reason))  # once for a laptop that is on the road
        self._missed[link.endpoint] = str(event.reason) if isinstance(event, LinkDown) else ""
        for peer, on_peer, _ in self._with_cloud():
            if isinstance(event, LinkUp):
                peer.on_up(link, on_peer)
            elif isinstance(event, LinkDown):
                peer.on_down(link, event.reason, on_peer)
        self._leave_draining()

    def _cloud_facts(self, user: str) -> dict[str, str]:
        server = server_of(self.settings.server) if self.services.server is not None else None
        asked = {"server": f"{server.place}, used by dispatch instead of the cloud"} if server is not None else {}
        return {"cloud": self._cloud_fact(user), **asked, "leaves this device": fact(self._egress)}

    def _cloud_fact(self, user: str) -> str:
        """Return the state of the links; what it reveals of others' requests in the cloud is shown to no user."""
        links = sorted((each.link for each in self.cluster.links), key=lambda link: not link.up)
        if not links:
            return "not used" if self._cloud else "none configured"
        if self._switch.is_cut:
            return "cut on this device: hocket alone off"
        if user:
            return "connected" if links[0].up else "not connected"
        first, *others = links
        return "; ".join(
            [_fact(first) + self._unit_fact(first), *(f"{link.endpoint}: {_fact(link)}" for link in others)]
        )

    def _unit_fact(self, link: Link) -> str:
        """Return what an answer with this cloud is decided by, where that is not each token."""
        if not link.up or link.tokenizer in ("", self.services.model.fingerprint):
            return ""
        if self.settings.aggregation.unit == "token":
            return "; no part in answers: its model has another tokenizer, and [aggregation] unit is token"
        return "; answers are decided word by word: its model has another tokenizer"

    def _cloud_metrics(self) -> dict[str, float]:
        sums = dict(self.ledger.sums)
        sent = {labelled("sent_bytes_total", **{"class": kind}): float(size) for kind, size in sums.items()}
        if not self.cluster.links:
            return sent
        link = self.cluster.peer().link
        sent["link_cut"] = float(self._switch.is_cut)
        return sent | ({"rtt_s": link.rtt_s, "rtt_average_s": link.round_trip.average} if link.up else {})


def _sealing_key(settings: DeviceSettings) -> SealingKey:
    """Return the sealing key of this machine's key; without one, as on ipc, a new key for this run of the daemon."""
    folder = _key_folder(settings)
    return SealingKey.of_secret(Keys(folder).own.secret) if exist(folder) else SealingKey.fresh()


def _key_folder(settings: DeviceSettings) -> Path:
    return Path(settings.keys) if settings.keys else paths.keys()


def _fact(link: Link) -> str:
    """Return a link in words, with the reason why it is not up where that lasts."""
    return link_fact(link) + (f" ({link.reason})" if isinstance(link.reason, ProtocolError) else "")


def main(path: Path, parts: Parts = PRODUCT) -> None:
    """Run the device daemon in the foreground with the configuration file `path`."""
    settings = config.load(path, DeviceSettings)
    log.setup(settings.log_level, settings.log_format)
    DeviceDaemon(settings, parts).run()
