//! From the first byte to CONNACK, and how a connection ends: conversations of bytes.

use ferrymq_mqtt_proto::server::{Accept, Connection, Event, Farewell, Settings, State};
use ferrymq_mqtt_proto::{Diagnostics, ReasonCode, UserProperties, Version, Violation};

const CONNECT_5: &[u8] = b"\x10\x0d\x00\x04MQTT\x05\x02\x00\x0a\x00\x00\x00";
const CONNECT_4: &[u8] = b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x0a\x00\x00";
const CONNECT_METHOD: &[u8] = b"\x10\x11\x00\x04MQTT\x05\x02\x00\x0a\x04\x15\x00\x01m\x00\x00";

fn open(settings: &Settings) -> Connection {
    Connection::new(settings, 0)
}

/// Reads one packet whole.
fn feed(connection: &mut Connection, input: &[u8]) -> Result<String, Violation> {
    let read = connection.handle_input(0, input)?;
    let (event, len) = read.expect("a whole packet");
    assert_eq!(len, input.len());
    Ok(format!("{event:?}").split(['(', ' ']).next().unwrap_or_default().to_owned())
}

fn connected(connect: &[u8]) -> Connection {
    let mut connection = open(&Settings::default());
    feed(&mut connection, connect).expect("valid");
    connection.accept(0, &Accept::default(), &mut Vec::new());
    connection
}

/// What the client gets for a mistake, and the statement that it broke.
fn answer(connection: &mut Connection, input: &[u8]) -> (Vec<u8>, &'static str) {
    let violation = match connection.handle_input(0, input) {
        Err(violation) => violation,
        Ok(read) => panic!("not refused: {read:?}"),
    };
    let mut out = Vec::new();
    connection.reject(&violation, &mut out);
    assert_eq!(connection.state(), State::Closing);
    (out, violation.clause)
}

#[test]
fn a_client_connects_in_each_version() {
    for (connect, version, connack) in [
        (&b"\x10\x0f\x00\x06MQIsdp\x03\x02\x00\x0a\x00\x01a"[..], Version::V3_1, &b"\x20\x02\x00\x00"[..]),
        (CONNECT_4, Version::V3_1_1, b"\x20\x02\x00\x00"),
        (CONNECT_5, Version::V5, b"\x20\x09\x00\x00\x06\x21\x03\xe8\x22\x00\x20"),
    ] {
        let mut connection = open(&Settings::default());
        assert_eq!(feed(&mut connection, connect).as_deref(), Ok("Connect"));
        assert_eq!((connection.state(), connection.version()), (State::Accepting, version));
        let mut out = Vec::new();
        connection.accept(0, &Accept::default(), &mut out);
        assert_eq!((connection.state(), out.as_slice()), (State::Connected, connack));
    }
}

#[test]
fn the_first_packet_is_connect_and_is_not_awaited_if_it_is_not() {
    for first in [&b"\x30"[..], b"\xc0\x00", b"\x00", b"GET / HTTP/1.1", b"\xf0"] {
        let (out, clause) = answer(&mut open(&Settings::default()), first);
        assert_eq!((out, clause), (vec![], "MQTT-3.1.0-1"));
    }
}

#[test]
fn a_second_connect_is_a_protocol_error() {
    let (out, clause) = answer(&mut connected(CONNECT_5), CONNECT_5);
    assert_eq!(clause, "MQTT-3.1.0-2");
    assert_eq!(out[..3], [0xe0, 17, 0x82]);
    assert_eq!(answer(&mut connected(CONNECT_4), CONNECT_4).0, []);
    let mut accepting = open(&Settings::default());
    feed(&mut accepting, CONNECT_4).expect("valid");
    assert_eq!(answer(&mut accepting, CONNECT_4).1, "MQTT-3.1.0-2");
}

#[test]
fn an_unsupported_version_is_told_in_the_form_that_its_speaker_knows() {
    let mut newer = open(&Settings::default());
    let (out, clause) = answer(&mut newer, b"\x10\x0d\x00\x04MQTT\x06\x02\x00\x0a\x00\x00\x00");
    assert_eq!((out[0], out[3], clause), (0x20, 0x84, "MQTT-3.1.2-2"));
    for older in [
        &b"\x10\x0c\x00\x04MQTT\x03\x02\x00\x0a\x00\x00"[..],
        b"\x10\x0e\x00\x06MQIsdp\x02\x02\x00\x0a\x00\x00",
    ] {
        assert_eq!(answer(&mut open(&Settings::default()), older).0, b"\x20\x02\x00\x01");
    }
    let other = answer(&mut open(&Settings::default()), b"\x10\x0c\x00\x04AMQP\x04\x02\x00\x0a\x00\x00");
    assert_eq!(other, (vec![], "MQTT-3.1.2-1"));
}

#[test]
fn a_malformed_connect_is_answered_in_version_5_only() {
    let (out, _) =
        answer(&mut open(&Settings::default()), b"\x10\x0d\x00\x04MQTT\x05\x03\x00\x0a\x00\x00\x00");
    assert_eq!((out[0], out[3]), (0x20, 0x81));
    let (out, _) = answer(&mut open(&Settings::default()), b"\x10\x0c\x00\x04MQTT\x04\x03\x00\x0a\x00\x00");
    assert_eq!(out, []);
}

#[test]
fn a_client_without_identifier_needs_a_clean_session_in_3_1_1() {
    let (out, clause) =
        answer(&mut open(&Settings::default()), b"\x10\x0c\x00\x04MQTT\x04\x00\x00\x0a\x00\x00");
    assert_eq!((out.as_slice(), clause), (&b"\x20\x02\x00\x02"[..], "MQTT-3.1.3-8"));
    let (out, _) = answer(&mut open(&Settings::default()), b"\x10\x0e\x00\x06MQIsdp\x03\x02\x00\x0a\x00\x00");
    assert_eq!(out, b"\x20\x02\x00\x02");
    let kept = b"\x10\x0d\x00\x04MQTT\x05\x00\x00\x0a\x00\x00\x00";
    assert!(feed(&mut open(&Settings::default()), kept).is_ok());
}

#[test]
fn before_connect_only_small_packets_are_taken() {
    let settings = Settings { maximum_packet_size_before_connect: 100, ..Settings::default() };
    let (out, clause) = answer(&mut open(&settings), b"\x10\x80\x01");
    assert_eq!((out, clause), (vec![], "MQTT-3.2.2-15"));
}

#[test]
fn a_will_beyond_what_is_offered_is_refused() {
    let settings = Settings { maximum_qos: ferrymq_mqtt_proto::QoS::AtLeastOnce, ..Settings::default() };
    let (out, _) = answer(
        &mut open(&settings),
        b"\x10\x13\x00\x04MQTT\x05\x16\x00\x0a\x00\x00\x00\x00\x00\x01w\x00\x00",
    );
    assert_eq!((out[0], out[3]), (0x20, 0x9b));
    let settings = Settings { retain_available: false, ..Settings::default() };
    let (out, _) = answer(
        &mut open(&settings),
        b"\x10\x13\x00\x04MQTT\x05\x26\x00\x0a\x00\x00\x00\x00\x00\x01w\x00\x00",
    );
    assert_eq!((out[0], out[3]), (0x20, 0x9a));
}

#[test]
fn refusals_have_return_codes_in_3_x() {
    for (reason, code) in [
        (ReasonCode::ServerUnavailable, Some(3)),
        (ReasonCode::BadUserNameOrPassword, Some(4)),
        (ReasonCode::NotAuthorized, Some(5)),
        (ReasonCode::TopicNameInvalid, None),
    ] {
        let mut connection = open(&Settings::default());
        feed(&mut connection, CONNECT_4).expect("valid");
        let mut out = Vec::new();
        connection.refuse(&Farewell::from(reason), &mut out);
        assert_eq!(out, code.map_or(vec![], |code| vec![0x20, 2, 0, code]));
        assert_eq!(connection.handle_input(0, b"\xc0\x00"), Ok(None));
    }
}

#[test]
fn a_server_says_farewell_to_version_5_only() {
    let mut out = Vec::new();
    connected(CONNECT_5).close(&Farewell::from(ReasonCode::SessionTakenOver), &mut out);
    assert_eq!(out, b"\xe0\x01\x8e");
    out.clear();
    connected(CONNECT_4).close(&Farewell::from(ReasonCode::SessionTakenOver), &mut out);
    assert_eq!(out, []);
    let moved = Farewell { server_reference: Some("x"), ..Farewell::from(ReasonCode::UseAnotherServer) };
    connected(CONNECT_5).close(&moved, &mut out);
    assert_eq!(out, b"\xe0\x06\x9c\x04\x1c\x00\x01x");
}

#[test]
fn a_client_leaves_with_the_rules_of_its_session() {
    let mut connection = connected(CONNECT_5);
    assert_eq!(feed(&mut connection, b"\xe0\x00").as_deref(), Ok("Disconnect"));
    assert_eq!(connection.state(), State::Closing);
    // The session was to end with the connection.
    let (_, clause) = answer(&mut connected(CONNECT_5), b"\xe0\x07\x00\x05\x11\x00\x00\x00\x01");
    assert_eq!(clause, "MQTT-5 3.14.2.2.2");
    assert!(feed(&mut connected(CONNECT_5), b"\xe0\x07\x00\x05\x11\x00\x00\x00\x00").is_ok());
    let kept = b"\x10\x12\x00\x04MQTT\x05\x02\x00\x0a\x05\x11\x00\x00\x00\x01\x00\x00";
    assert!(feed(&mut connected(kept), b"\xe0\x07\x00\x05\x11\x00\x00\x00\x09").is_ok());
    // Reasons and references that are the server's alone.
    assert_eq!(answer(&mut connected(CONNECT_5), b"\xe0\x01\x8e").1, "MQTT-3.14.2-1");
    assert_eq!(answer(&mut connected(CONNECT_5), b"\xe0\x06\x00\x04\x1c\x00\x01x").1, "MQTT-5 3.14.2.2.5");
}

#[test]
fn an_extended_authentication_takes_steps() {
    let mut connection = open(&Settings::default());
    feed(&mut connection, CONNECT_METHOD).expect("valid");
    assert_eq!(connection.state(), State::Authenticating);
    let mut out = Vec::new();
    connection.auth(ReasonCode::ContinueAuthentication, Some(b"c"), &Diagnostics::NONE, &mut out);
    assert_eq!(out, b"\xf0\x0a\x18\x08\x15\x00\x01m\x16\x00\x01c");
    assert_eq!(feed(&mut connection, &out).as_deref(), Ok("Auth"));
    out.clear();
    connection.accept(0, &Accept { authentication_data: Some(b"d"), ..Accept::default() }, &mut out);
    assert!(out.ends_with(b"\x15\x00\x01m\x16\x00\x01d"));
    // On a live connection it begins again.
    assert_eq!(feed(&mut connection, b"\xf0\x06\x19\x04\x15\x00\x01m").as_deref(), Ok("Auth"));
    assert_eq!(feed(&mut connection, b"\xf0\x06\x18\x04\x15\x00\x01m").as_deref(), Ok("Auth"));
    connection.auth(ReasonCode::Success, None, &Diagnostics::NONE, &mut out);
    assert_eq!(answer(&mut connection, b"\xf0\x06\x18\x04\x15\x00\x01m").1, "MQTT-3.15.2-1");
}

#[test]
fn an_authentication_keeps_its_rules() {
    let authenticating = || {
        let mut connection = open(&Settings::default());
        feed(&mut connection, CONNECT_METHOD).expect("valid");
        connection
    };
    assert_eq!(answer(&mut authenticating(), b"\xc0\x00").1, "MQTT-3.1.2-30");
    let (out, clause) = answer(&mut authenticating(), b"\xf0\x06\x18\x04\x15\x00\x01x");
    assert_eq!((out[0], out[3], clause), (0x20, 0x8c, "MQTT-4.12.0-5"));
    assert_eq!(answer(&mut authenticating(), b"\xf0\x06\x19\x04\x15\x00\x01m").1, "MQTT-3.15.2-1");
    assert_eq!(answer(&mut connected(CONNECT_5), b"\xf0\x06\x19\x04\x15\x00\x01m").1, "MQTT-4.12.0-7");
    assert_eq!(answer(&mut connected(CONNECT_METHOD), b"\xf0\x06\x19\x04\x15\x00\x01x").1, "MQTT-4.12.1-1");
}

#[test]
fn connack_tells_what_the_server_offers_and_has_decided() {
    let settings = Settings {
        maximum_packet_size: 1000,
        receive_maximum: 10,
        topic_alias_maximum: 0,
        keep_alive_maximum_s: 5,
        retain_available: false,
        ..Settings::default()
    };
    let mut connection = open(&settings);
    feed(&mut connection, CONNECT_5).expect("valid");
    let mut out = Vec::new();
    let accept = Accept { assigned_client_id: Some("id"), session_expiry_s: Some(7), ..Accept::default() };
    connection.accept(1_000, &accept, &mut out);
    let properties =
        b"\x11\x00\x00\x00\x07\x21\x00\x0a\x25\x00\x27\x00\x00\x03\xe8\x12\x00\x02id\x13\x00\x05";
    assert_eq!(out, [b"\x20\x1a\x00\x00\x17".as_slice(), properties].concat());
    assert_eq!(connection.poll_timeout(), Some(1_000 + 7_500));
}

#[test]
fn a_client_that_can_take_no_connack_runs_out_of_time() {
    let mut connection = open(&Settings::default());
    feed(&mut connection, b"\x10\x12\x00\x04MQTT\x05\x02\x00\x0a\x05\x27\x00\x00\x00\x0a\x00\x00")
        .expect("valid");
    let mut out = Vec::new();
    connection.accept(1_000, &Accept::default(), &mut out);
    assert_eq!(
        (out, connection.state(), connection.poll_timeout()),
        (vec![], State::Accepting, Some(10_000))
    );
}

#[test]
fn a_silent_client_is_noticed_after_one_and_a_half_times_its_keep_alive() {
    let mut connection = connected(CONNECT_5);
    assert_eq!(connection.poll_timeout(), Some(15_000));
    assert!(matches!(connection.handle_input(10_000, b"\xc0\x00"), Ok(Some((Event::Pingreq, 2)))));
    assert_eq!(connection.handle_timeout(15_000), Ok(()));
    assert_eq!(connection.poll_timeout(), Some(25_000));
    let violation = connection.handle_timeout(25_000).expect_err("silent");
    let mut out = Vec::new();
    connection.reject(&violation, &mut out);
    assert_eq!((out[0], out[2], connection.poll_timeout()), (0xe0, 0x8d, None));
    let forever = connected(b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00");
    assert_eq!(forever.poll_timeout(), None);
}

#[test]
fn a_client_that_does_not_connect_has_ten_seconds() {
    let mut connection = open(&Settings::default());
    assert_eq!(connection.poll_timeout(), Some(10_000));
    let violation = connection.handle_timeout(10_000).expect_err("late");
    let mut out = Vec::new();
    connection.reject(&violation, &mut out);
    assert_eq!(out, []);
}

#[test]
fn input_split_at_every_byte_gives_the_same_events() {
    let input =
        [CONNECT_5, b"\x32\x0b\x00\x03a/b\x00\x01\x00pay", b"\xc0\x00", b"\x82\x07\x00\x02\x00\x00\x01#\x01"]
            .concat();
    for cut in 0..=input.len() {
        let mut connection = open(&Settings::default());
        let (mut at, mut events) = (0, Vec::new());
        for end in [cut, input.len()] {
            while let Some((event, len)) = connection.handle_input(0, &input[at..end]).expect("valid") {
                events.push(format!("{event:?}"));
                at += len;
            }
        }
        assert_eq!((at, events.len()), (input.len(), 4), "cut at {cut}");
        assert!(events[1].contains("a/b") && events[3].contains('#'));
    }
}

#[test]
fn a_reason_string_is_not_sent_where_it_is_not_wanted() {
    let silent = b"\x10\x0f\x00\x04MQTT\x05\x02\x00\x0a\x02\x17\x00\x00\x00";
    let diagnostics = Diagnostics { reason_string: Some("why"), user_properties: UserProperties::NONE };
    let mut out = Vec::new();
    connected(silent).puback(1, ReasonCode::QuotaExceeded, &diagnostics, &mut out);
    assert_eq!(out, b"\x40\x03\x00\x01\x97");
    out.clear();
    // DISCONNECT may tell all the same (MQTT-3.1.2-29).
    connected(silent).close(&Farewell { diagnostics, ..Farewell::from(ReasonCode::QuotaExceeded) }, &mut out);
    assert_eq!(out, b"\xe0\x08\x97\x06\x1f\x00\x03why");
}

#[test]
fn a_connection_is_small() {
    assert!(size_of::<Connection>() <= 128, "{}", size_of::<Connection>());
}
