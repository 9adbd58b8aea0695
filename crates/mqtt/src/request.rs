//! Packets of clients with what the queue manager needs of them, detached from the input.

use ferrymq_mqtt_proto::server::Event;
use ferrymq_mqtt_proto::{self as proto, Ack, Auth, Connect, ReasonCode};
use ferrymq_transport::ConnectionToken;

use crate::MqttSettings;
use crate::client_connection::Handshake;
use crate::engine::{
    self, Command, ConnectionId, DeliveryTag, Disconnect, RetainHandling, Settlement, Subscribe,
    SubscriptionRequest, Unsubscribe,
};
use crate::message_in::{self, Unacceptable, qos_in};
use crate::service::connection_id;

/// What a client wants, other than messages and their settlement.
#[derive(Debug)]
pub(crate) enum Request {
    /// The queue manager's business.
    Command(Command),
    /// PINGREQ.
    Ping,
    /// CONNECT.
    Introduce(Box<Introduction>),
    /// AUTH.
    Authenticate(AuthenticationStep),
    /// DISCONNECT.
    Leave(Disconnect),
    /// Dealt with already.
    Nothing,
}

/// A client that wants to connect.
#[derive(Debug)]
pub(crate) struct Introduction {
    pub handshake: Handshake,
    pub wants_response_information: bool,
    pub will: Option<Result<Box<engine::Will>, Unacceptable>>,
    /// The extended authentication that it wants.
    pub authentication: Option<AuthenticationStep>,
}

/// A step of an extended authentication.
#[derive(Debug)]
pub(crate) struct AuthenticationStep {
    pub method: Box<str>,
    pub data: Option<Box<[u8]>>,
    /// The first of an exchange.
    pub starts: bool,
}

impl Request {
    pub fn new(event: &Event<'_>, token: ConnectionToken, settings: &MqttSettings) -> Request {
        let connection = connection_id(token);
        match event {
            Event::Connect(connect) => {
                Request::Introduce(Box::new(introduction(connection, connect, settings)))
            }
            Event::Subscribe(subscribe) => {
                Request::Command(subscribe_command(connection, subscribe, settings))
            }
            Event::Unsubscribe(unsubscribe) => Request::Command(unsubscribe_command(connection, unsubscribe)),
            Event::Pingreq => Request::Ping,
            Event::Auth(auth) => Request::Authenticate(authentication_step(auth)),
            Event::Disconnect(disconnect) => Request::Leave(Disconnect {
                connection,
                // MQTT-3.14.4-3: only a normal end makes the will void.
                with_will: disconnect.reason != ReasonCode::Success,
                session_expiry_s: disconnect.session_expiry_s,
            }),
            Event::Publish(_)
            | Event::Puback(_)
            | Event::Pubrec(_)
            | Event::Pubrel(_)
            | Event::Pubcomp(_) => Request::Nothing,
        }
    }
}

/// The commands of acknowledgements.
#[inline]
pub(crate) fn settlement(connection: ConnectionId, event: &Event<'_>) -> Option<Command> {
    let settle = |ack: &Ack<'_>, success| Command::Settle {
        connection,
        tag: DeliveryTag(ack.packet_id),
        settlement: if ack.reason.is_error() { Settlement::Refused } else { success },
    };
    Some(match event {
        Event::Puback(ack) => settle(ack, Settlement::Accepted),
        Event::Pubrec(ack) => settle(ack, Settlement::Received),
        Event::Pubcomp(ack) => {
            Command::Settle { connection, tag: DeliveryTag(ack.packet_id), settlement: Settlement::Completed }
        }
        Event::Pubrel(ack) => Command::Release { connection, tag: DeliveryTag(ack.packet_id) },
        _ => return None,
    })
}

fn introduction(connection: ConnectionId, connect: &Connect<'_>, settings: &MqttSettings) -> Introduction {
    let receive_maximum = match connect.version.is_5() {
        true => connect.receive_maximum.min(settings.inflight_mqtt5),
        false => settings.inflight_mqtt3,
    };
    let command = engine::Connect {
        connection,
        client_id: connect.client_id.into(),
        clean_start: connect.clean_start,
        session_expiry_s: connect.session_expiry_s,
        receive_maximum: receive_maximum.max(1),
        will: None,
    };
    Introduction {
        handshake: Handshake {
            connect: Some(Box::new(command)),
            session_expiry_s: connect.session_expiry_s,
            ..Handshake::default()
        },
        wants_response_information: connect.request_response_information,
        will: connect.will.map(|will| message_in::will(&will, connect.version, settings)),
        authentication: connect.authentication_method.map(|method| AuthenticationStep {
            method: method.into(),
            data: connect.authentication_data.map(Into::into),
            starts: true,
        }),
    }
}

fn authentication_step(auth: &Auth<'_>) -> AuthenticationStep {
    AuthenticationStep {
        method: auth.method.unwrap_or_default().into(),
        data: auth.data.map(Into::into),
        starts: auth.reason == ReasonCode::ReAuthenticate,
    }
}

fn subscribe_command(
    connection: ConnectionId,
    subscribe: &proto::Subscribe<'_>,
    settings: &MqttSettings,
) -> Command {
    let subscriptions = subscribe.filters.iter().map(|subscription| SubscriptionRequest {
        filter: subscription.filter.into(),
        qos: qos_in(subscription.qos.min(settings.connection.maximum_qos)),
        no_local: subscription.no_local,
        retain_as_published: subscription.retain_as_published,
        retain_handling: match subscription.retain_handling {
            proto::RetainHandling::Send => RetainHandling::Send,
            proto::RetainHandling::SendIfNew => RetainHandling::SendIfNew,
            proto::RetainHandling::DoNotSend => RetainHandling::DoNotSend,
        },
    });
    Command::Subscribe(Box::new(Subscribe {
        connection,
        request: subscribe.packet_id,
        identifier: subscribe.identifier,
        subscriptions: subscriptions.collect(),
    }))
}

fn unsubscribe_command(connection: ConnectionId, unsubscribe: &proto::Unsubscribe<'_>) -> Command {
    Command::Unsubscribe(Box::new(Unsubscribe {
        connection,
        request: unsubscribe.packet_id,
        filters: unsubscribe.filters.iter().map(Into::into).collect(),
    }))
}
