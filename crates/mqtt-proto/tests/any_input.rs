//! Whatever comes: valid packets survive a round trip, and nothing makes the decoder panic.

mod generated;

use ferrymq_mqtt_proto::server::{self, Settings};
use ferrymq_mqtt_proto::{PacketKind, Version, client, decode};
use generated::{Bytes, packet, read};
use proptest::collection::vec;
use proptest::prelude::*;

const VERSIONS: [Version; 3] = [Version::V3_1, Version::V3_1_1, Version::V5];

/// Puts `input` through everything that reads bytes.
fn read_in_every_way(input: &[u8]) {
    for version in VERSIONS {
        let mut rest = input;
        while let Ok(Some((packet, len))) = decode(rest, version, 100_000) {
            assert!(len > 0 && len <= rest.len());
            packet.encode(version, &mut Vec::new());
            rest = &rest[len..];
        }
    }
    let mut out = Vec::new();
    for first in [
        &b""[..],
        b"\x10\x0d\x00\x04MQTT\x05\x02\x00\x00\x00\x00\x00",
        b"\x10\x0c\x00\x04MQTT\x04\x02\x00\x00\x00\x00",
    ] {
        serve(&[first, input].concat(), &mut out);
    }
    let mut connection =
        client::Connection::new(&ferrymq_mqtt_proto::Connect::new(Version::V5, ""), 0, &mut out);
    let input = [&b"\x20\x03\x00\x00\x00"[..], input].concat();
    let mut at = 0;
    while let Ok(Some((_, len))) = connection.handle_input(&input[at..]) {
        at += len;
    }
}

fn serve(input: &[u8], out: &mut Vec<u8>) {
    let mut connection = server::Connection::new(&Settings::default(), 0);
    let mut at = 0;
    loop {
        match connection.handle_input(0, &input[at..]) {
            Ok(Some((event, len))) => {
                at += len;
                if matches!(event, server::Event::Connect(_)) {
                    connection.accept(0, &server::Accept::default(), out);
                }
            }
            Ok(None) => break,
            Err(violation) => {
                assert!(violation.reason.is_error());
                connection.reject(&violation, out);
                assert_eq!(connection.state(), server::State::Closing);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_packet_survives_the_round_trip(bytes in packet()) {
        let packet = read(&bytes);
        let mut again = Vec::new();
        packet.encode(bytes.version, &mut again);
        let again = Bytes { bytes: again, ..bytes.clone() };
        prop_assert_eq!(read(&again), packet);
        // Our own order of properties, so that the bytes agree as well.
        prop_assert_eq!(again.bytes, bytes.bytes);
    }

    #[test]
    fn a_packet_is_read_when_its_last_byte_is_there(bytes in packet()) {
        for cut in 0..bytes.bytes.len().min(400) {
            prop_assert_eq!(decode(&bytes.bytes[..cut], bytes.version, u32::MAX), Ok(None));
        }
        let mut more = bytes.bytes.clone();
        more.push(0xff);
        let decoded = decode(&more, bytes.version, u32::MAX);
        prop_assert_eq!(decoded, Ok(Some((read(&bytes), bytes.bytes.len()))));
    }

    #[test]
    fn random_bytes_do_not_panic(input in vec(any::<u8>(), 0..200)) {
        read_in_every_way(&input);
    }

    #[test]
    fn a_random_body_of_a_known_kind_does_not_panic(kind in 1..=15u8, flags in 0..16u8, body in vec(any::<u8>(), 0..100)) {
        let flags = if kind == PacketKind::Publish as u8 { flags } else { [0, 2][usize::from(flags & 1)] };
        let mut input = vec![kind << 4 | flags, body.len() as u8];
        input.extend_from_slice(&body);
        read_in_every_way(&input);
    }

    #[test]
    fn a_changed_packet_does_not_panic(
        bytes in packet(),
        changes in vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut input = bytes.bytes;
        for (at, value) in changes {
            let at = at.index(input.len());
            input[at] = value;
        }
        read_in_every_way(&input);
    }

    #[test]
    fn a_packet_with_bytes_put_in_or_taken_out_does_not_panic(
        bytes in packet(),
        at in any::<proptest::sample::Index>(),
        put_in in vec(any::<u8>(), 0..4),
        taken in 0..4usize,
    ) {
        let mut input = bytes.bytes;
        let at = at.index(input.len());
        let end = (at + taken).min(input.len());
        input.splice(at..end, put_in);
        read_in_every_way(&input);
    }
}
