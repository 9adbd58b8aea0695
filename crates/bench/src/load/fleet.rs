//! The client connections of a run: opening them a bounded number at a time, and what each is for.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ferrymq_mqtt_proto::{PacketKind, ReasonCode};
use ferrymq_transport::{ConnectionToken, Io};

use super::{LoadError, Role, packets};
use crate::latency::Latency;
use crate::scenario::Plan;

/// Connections of one address pair: a little under the kernel's 28,232 ephemeral ports.
const CONNECTIONS_PER_SOURCE: u32 = 25_000;
/// Handshakes under way at a time: no more than fit into mosquitto's listen backlog of 100, beyond which a SYN is
/// repeated only after a second.
const IN_PROGRESS_MAX: u32 = 100;

/// Where a run's connections go and how they name themselves.
#[derive(Clone, Debug)]
pub struct Destination {
    /// The server's listener.
    pub address: SocketAddr,
    /// Makes client identifiers and payloads of this run its own.
    pub run: u32,
    /// Keep-alive announced; 0 switches it off. No PINGREQ is ever sent.
    pub keep_alive_s: u16,
}

impl Destination {
    /// Says CONNECT on connection `id`.
    pub fn say_connect(&self, io: &mut Io, id: ConnectionToken, role: Role, clean: bool) {
        if let Some(output) = io.output(id) {
            packets::connect(&self.client_id(role), clean, self.keep_alive_s, output.buffer());
        }
    }

    /// What the client is called; at most 23 characters, as MQTT 3.1 demands.
    pub fn client_id(&self, role: Role) -> String {
        let (letter, number) = match role {
            Role::Publisher(n) => ('p', n),
            Role::Subscriber(n) => ('s', n),
            Role::Idle(n) => ('i', n),
        };
        format!("fb{:08x}{letter}{number}", self.run)
    }

    /// The source address of the connection number `number`; `None` leaves it to the kernel.
    pub fn source(&self, number: u32) -> Option<SocketAddr> {
        let IpAddr::V4(target) = self.address.ip() else { return None };
        let host = number / CONNECTIONS_PER_SOURCE;
        if !target.is_loopback() || host == 0 {
            return None;
        }
        let [_, _, high, low] = (host + 1).to_be_bytes();
        Some(SocketAddr::new(Ipv4Addr::new(127, 0, high, low).into(), 0))
    }
}

#[derive(Clone, Copy, Debug)]
struct Member {
    token: ConnectionToken,
    role: Role,
    started_us: u64,
}

/// All connections of a run, subscribers first.
#[derive(Debug)]
pub struct Fleet {
    destination: Destination,
    plan: Plan,
    /// Opened so far, in the order of opening.
    members: Vec<Member>,
    /// Place in `members` by the connection's slot.
    by_slot: Vec<u32>,
    /// Up, and subscribed where that is their purpose.
    ready: u32,
    first_connect_us: u64,
    last_ready_us: u64,
    /// From the connect to readiness (CONNACK, or SUBACK).
    pub latency: Latency,
}

impl Fleet {
    /// Nothing is opened yet.
    pub fn new(destination: Destination, plan: Plan) -> Self {
        let (members, by_slot) = (Vec::new(), Vec::new());
        let latency = Latency::default();
        Self { destination, plan, members, by_slot, ready: 0, first_connect_us: 0, last_ready_us: 0, latency }
    }

    /// Connections that are to be opened in all.
    pub fn wanted(&self) -> u32 {
        let traffic = self.plan.publishers + self.plan.subscribers;
        if traffic == 0 { self.plan.clients } else { traffic }
    }

    /// Connections ready.
    pub fn ready(&self) -> u32 {
        self.ready
    }

    /// Connections that became ready a second, from the first connect to the last answer.
    pub fn connects_per_s(&self) -> f64 {
        let took_us = self.last_ready_us.saturating_sub(self.first_connect_us).max(1);
        f64::from(self.ready) * 1e6 / took_us as f64
    }

    /// Starts as many connects as may be under way. Publishers wait until all subscribers are ready.
    pub fn open_more(&mut self, io: &mut Io) -> Result<(), LoadError> {
        let barrier = if self.ready < self.plan.subscribers { self.plan.subscribers } else { self.wanted() };
        while (self.members.len() as u32) < barrier.min(self.ready + IN_PROGRESS_MAX) {
            self.open_one(io)?;
        }
        Ok(())
    }

    fn open_one(&mut self, io: &mut Io) -> Result<(), LoadError> {
        let number = self.members.len() as u32;
        let started_us = io.clock().now_us();
        let token = io.connect(self.destination.address, self.destination.source(number))?;
        if number == 0 {
            self.first_connect_us = started_us;
        }
        if self.by_slot.len() <= token.slot() {
            self.by_slot.resize(token.slot() + 1, u32::MAX);
        }
        self.by_slot[token.slot()] = number;
        self.members.push(Member { token, role: self.role(number), started_us });
        Ok(())
    }

    fn role(&self, number: u32) -> Role {
        match number.checked_sub(self.plan.subscribers) {
            None => Role::Subscriber(number),
            Some(publisher) if publisher < self.plan.publishers => Role::Publisher(publisher),
            Some(_) => Role::Idle(number),
        }
    }

    /// What connection `id` is for.
    #[inline]
    pub fn role_of(&self, id: ConnectionToken) -> Option<Role> {
        Some(self.member(id)?.role)
    }

    #[inline]
    fn member(&self, id: ConnectionToken) -> Option<&Member> {
        self.members.get(*self.by_slot.get(id.slot())? as usize).filter(|m| m.token == id)
    }

    /// The socket is up: says CONNECT.
    pub fn connected(&mut self, io: &mut Io, id: ConnectionToken) {
        let Some(role) = self.role_of(id) else { return };
        let clean = !(self.plan.persistent && matches!(role, Role::Subscriber(_)));
        self.destination.say_connect(io, id, role, clean);
    }

    /// CONNACK or SUBACK (`packet`) with `reason`. Says whether the connection became ready.
    pub fn answered(
        &mut self,
        io: &mut Io,
        id: ConnectionToken,
        packet: PacketKind,
        reason: ReasonCode,
    ) -> Result<bool, LoadError> {
        let Some(&Member { role, started_us, .. }) = self.member(id) else { return Ok(false) };
        if reason.is_error() {
            return Err(LoadError::Refused { role, packet, code: reason as u8 });
        }
        if let (PacketKind::Connack, Role::Subscriber(number)) = (packet, role) {
            self.subscribe(io, id, number);
            return Ok(false);
        }
        self.ready += 1;
        self.last_ready_us = io.clock().now_us();
        self.latency.record(self.last_ready_us - started_us);
        Ok(true)
    }

    fn subscribe(&self, io: &mut Io, id: ConnectionToken, number: u32) {
        if let Some(output) = io.output(id) {
            packets::subscribe(&self.plan.shape.filter(number), self.plan.qos, output.buffer());
        }
    }

    /// Says DISCONNECT everywhere.
    pub fn disconnect(&self, io: &mut Io) {
        for member in &self.members {
            if let Some(output) = io.output(member.token) {
                packets::disconnect(output.buffer());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Overrides, named};

    fn destination(address: &str) -> Destination {
        Destination { address: address.parse().expect("an address"), run: 0xAB, keep_alive_s: 0 }
    }

    #[test]
    fn a_second_source_address_is_used_only_beyond_the_ports_of_the_first_and_on_loopback() {
        let local = destination("127.0.0.1:1883");
        assert_eq!(local.source(24_999), None);
        assert_eq!(local.source(25_000).map(|a| a.to_string()).as_deref(), Some("127.0.0.2:0"));
        assert_eq!(destination("10.0.0.1:1883").source(30_000), None);
    }

    #[test]
    fn client_identifiers_are_the_runs_own_and_short_enough_for_every_server() {
        let destination = destination("127.0.0.1:1883");
        assert_eq!(destination.client_id(Role::Publisher(7)), "fb000000abp7");
        assert!(destination.client_id(Role::Subscriber(u32::MAX)).len() <= 23);
    }

    #[test]
    fn subscribers_come_before_publishers_and_idle_connections_stand_alone() {
        let roles = |name: &str| {
            let plan = named(name).expect("known").plan(&Overrides::default()).expect("a plan");
            let fleet = Fleet::new(destination("127.0.0.1:1"), plan);
            (fleet.wanted(), fleet.role(0), fleet.role(fleet.wanted() - 1))
        };
        assert_eq!(roles("fan-in-q0"), (101, Role::Subscriber(0), Role::Publisher(99)));
        assert_eq!(roles("CONNSCALE"), (15_000, Role::Idle(0), Role::Idle(14_999)));
    }
}
