//! The flow of extended authentication, with a mechanism that only knows one word.

mod in_memory;

use ferrymq_mqtt::{Authenticator, Exchange, Verdict};
use ferrymq_mqtt_proto::{Auth, Connack, Connect, Diagnostics, Disconnect, Packet, ReasonCode, Version};
use ferrymq_transport::ConnectionToken;
use in_memory::{Broker, Client};

/// Asks twice; the second answer must be `open`.
struct Password;

impl Authenticator for Password {
    fn start(&mut self, exchange: &Exchange<'_>) -> Verdict {
        match exchange.method {
            "password" => Verdict::Continue((*b"who?").into()),
            "trust" => Verdict::Accepted(None),
            _ => Verdict::Refused(ReasonCode::BadAuthenticationMethod),
        }
    }

    fn proceed(&mut self, exchange: &Exchange<'_>) -> Verdict {
        match exchange.data {
            Some(b"open") => Verdict::Accepted(Some((*b"welcome").into())),
            _ => Verdict::Refused(ReasonCode::NotAuthorized),
        }
    }

    fn forget(&mut self, _: ConnectionToken) {}
}

fn connect(method: &'static str) -> Connect<'static> {
    Connect { authentication_method: Some(method), ..Connect::new(Version::V5, "c") }
}

fn auth(reason: ReasonCode, data: Option<&'static [u8]>) -> Packet<'static> {
    Packet::Auth(Auth { reason, method: Some("password"), data, ..Auth::default() })
}

fn connack(reason: ReasonCode) -> Connack<'static> {
    Connack { receive_maximum: 1_000, topic_alias_maximum: 32, ..Connack::new(reason) }
}

fn accepted(broker: &mut Broker) -> Client {
    let client = broker.accept(Version::V5);
    broker.send(client, &Packet::Connect(connect("password")));
    broker.expect(client, &[auth(ReasonCode::ContinueAuthentication, Some(b"who?"))]);
    broker.send(client, &auth(ReasonCode::ContinueAuthentication, Some(b"open")));
    client
}

fn failed() -> Diagnostics<'static> {
    Diagnostics { reason_string: Some("the extended authentication failed"), ..Diagnostics::NONE }
}

fn broker() -> Broker {
    let mut broker = Broker::new();
    broker.service.set_authenticator(Box::new(Password));
    broker
}

#[test]
fn without_a_mechanism_no_method_is_good() {
    let mut broker = Broker::new();
    let client = broker.accept(Version::V5);
    broker.send(client, &Packet::Connect(connect("password")));
    let refusal = Connack { diagnostics: failed(), ..Connack::new(ReasonCode::BadAuthenticationMethod) };
    broker.expect_closed(client, &[Packet::Connack(refusal)]);
}

#[test]
fn a_client_that_proves_itself_is_connected_from_anywhere() {
    let mut broker = broker();
    broker.peers_come_from("192.0.2.1:4000");
    let client = accepted(&mut broker);
    let welcome = Connack {
        authentication_method: Some("password"),
        authentication_data: Some(b"welcome"),
        ..connack(ReasonCode::Success)
    };
    broker.expect(client, &[Packet::Connack(welcome)]);
}

#[test]
fn a_method_may_need_no_more_than_connect() {
    let mut broker = broker();
    let client = broker.accept(Version::V5);
    broker.send(client, &Packet::Connect(connect("trust")));
    let welcome = Connack { authentication_method: Some("trust"), ..connack(ReasonCode::Success) };
    broker.expect(client, &[Packet::Connack(welcome)]);
    broker.send(client, &Packet::Pingreq);
    broker.expect(client, &[Packet::Pingresp]);
}

#[test]
fn a_wrong_answer_is_refused() {
    let mut broker = broker();
    let client = broker.accept(Version::V5);
    broker.send(client, &Packet::Connect(connect("password")));
    broker.take(client);
    broker.send(client, &auth(ReasonCode::ContinueAuthentication, Some(b"no")));
    let refusal = Connack { diagnostics: failed(), ..Connack::new(ReasonCode::NotAuthorized) };
    broker.expect_closed(client, &[Packet::Connack(refusal)]);
    assert_eq!(broker.service.statistics().refused, 1);
}

#[test]
fn a_connected_client_may_prove_itself_anew() {
    let mut broker = broker();
    let client = accepted(&mut broker);
    broker.take(client);
    broker.send(client, &auth(ReasonCode::ReAuthenticate, None));
    broker.expect(client, &[auth(ReasonCode::ContinueAuthentication, Some(b"who?"))]);
    broker.send(client, &auth(ReasonCode::ContinueAuthentication, Some(b"open")));
    broker.expect(client, &[auth(ReasonCode::Success, Some(b"welcome"))]);
    broker.send(client, &auth(ReasonCode::ReAuthenticate, None));
    broker.take(client);
    broker.send(client, &auth(ReasonCode::ContinueAuthentication, Some(b"no")));
    let farewell = Disconnect { diagnostics: failed(), ..Disconnect::new(ReasonCode::NotAuthorized) };
    broker.expect_closed(client, &[Packet::Disconnect(farewell)]);
}
