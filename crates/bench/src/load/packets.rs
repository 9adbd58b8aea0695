//! The packets the harness sends, by `mqtt-proto`. It speaks MQTT 3.1.1, which every peer speaks.

use ferrymq_mqtt_proto::client::PublishTemplate;
use ferrymq_mqtt_proto::{
    Connect, Disconnect, Publish, QoS, ReasonCode, Subscription, UserProperties, Version, encode_subscribe,
};

/// The version spoken.
pub const VERSION: Version = Version::V3_1_1;

/// CONNECT.
pub fn connect(client_id: &str, clean: bool, keep_alive_s: u16, out: &mut Vec<u8>) {
    Connect { clean_start: clean, keep_alive_s, ..Connect::new(VERSION, client_id) }.encode(out);
}

/// SUBSCRIBE to one filter.
pub fn subscribe(filter: &str, qos: u8, out: &mut Vec<u8>) {
    let subscription = Subscription { filter, qos: quality(qos), ..Subscription::default() };
    encode_subscribe(1, None, UserProperties::NONE, [subscription], VERSION, out);
}

/// DISCONNECT.
pub fn disconnect(out: &mut Vec<u8>) {
    Disconnect::new(ReasonCode::Success).encode(VERSION, out);
}

/// A PUBLISH of one stream, to be sent with another identifier and stamp each time.
pub fn template(topic: &str, qos: u8, size: usize) -> PublishTemplate {
    let payload = vec![b'.'; size];
    // The identifier is put in by the template; 0 would not be a legal one.
    let publish = Publish { topic, payload: &payload, qos: quality(qos), packet_id: 1, ..Publish::default() };
    PublishTemplate::new(&publish, VERSION)
}

fn quality(qos: u8) -> QoS {
    QoS::from_bits(qos).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stamp::Stamp;
    use ferrymq_mqtt_proto::{Packet, decode};

    #[test]
    fn a_stamp_put_into_a_template_reads_back_from_the_decoded_packet() {
        let stamp = Stamp { run: 1, stream: 2, sequence: 3, intended_us: 4 };
        for (qos, size) in [(0, 24), (1, 128), (2, 20_000)] {
            let mut bytes = Vec::new();
            template("bench/pair/7", qos, size).write(0x1234, &stamp.to_bytes(), &mut bytes);
            let Ok(Some((Packet::Publish(publish), length))) = decode(&bytes, VERSION, u32::MAX) else {
                panic!("no PUBLISH")
            };
            assert_eq!((length, publish.payload.len()), (bytes.len(), size));
            assert_eq!(Stamp::read(publish.payload), Some(stamp));
            assert_eq!(publish.packet_id, if qos == 0 { 0 } else { 0x1234 });
        }
    }

    #[test]
    fn the_cold_packets_are_as_the_specification_writes_them() {
        let bytes = |write: &dyn Fn(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            out
        };
        assert_eq!(bytes(&|out| connect("ab", true, 10, out)), b"\x10\x0e\0\x04MQTT\x04\x02\0\x0a\0\x02ab");
        assert_eq!(bytes(&|out| subscribe("a/#", 1, out)), b"\x82\x08\0\x01\0\x03a/#\x01");
        assert_eq!(bytes(&|out| disconnect(out)), b"\xe0\0");
    }
}
