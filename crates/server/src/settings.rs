//! The configuration in the words of the crates that run it.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use ferrymq_engine::{Durability as EngineDurability, EngineSettings, LogSettings};
use ferrymq_mqtt::{AnonymousFrom as MqttAnonymousFrom, MqttSettings, Redirect};
use ferrymq_mqtt_proto::{QoS, server};
use ferrymq_transport::Settings as TransportSettings;

use crate::configuration::{AnonymousFrom, Durability, Limits, Mqtt, QueueManager};

/// For the loop.
pub fn transport(limits: &Limits, queue_manager: &QueueManager) -> TransportSettings {
    TransportSettings {
        connections_max: limits.connections as usize,
        accepts_per_s: Some(limits.connect_rate_per_s).filter(|rate| *rate > 0),
        partial_bytes_max: queue_manager
            .mqtt
            .max_packet_size
            .max(queue_manager.mqtt.max_packet_size_before_connect) as usize,
        output_bytes_max: limits.output_per_connection as usize,
        buffered_bytes_max: limits.connection_buffers as usize,
        pool_bytes_max: limits.buffer_pool as usize,
        linger_ms: limits.linger_ms,
        ..TransportSettings::default()
    }
}

/// For the engine, with its data in `directory`.
pub fn engine(queue_manager: &QueueManager, directory: &Path) -> EngineSettings {
    let log = &queue_manager.log;
    EngineSettings {
        name: queue_manager.name.clone(),
        directory: directory.into(),
        durability: match queue_manager.durability {
            Durability::Memory => EngineDurability::Memory,
            Durability::Fsync => EngineDurability::Fsync,
        },
        limits: queue_manager.limits.to_core(),
        log: LogSettings {
            extent_size: log.extent_size,
            unwritten_max: log.unwritten_max,
            reclaim_after: log.reclaim_after,
        },
    }
}

/// For the MQTT service.
pub fn mqtt(queue_manager: &QueueManager) -> MqttSettings {
    let QueueManager { limits, mqtt, .. } = queue_manager;
    MqttSettings {
        connection: connection(mqtt),
        anonymous_from: match queue_manager.allow_anonymous_from {
            AnonymousFrom::Loopback => MqttAnonymousFrom::Loopback,
            AnonymousFrom::Any => MqttAnonymousFrom::Any,
        },
        topic_length: limits.topic_length,
        topic_levels: limits.topic_levels,
        inflight_mqtt3: mqtt.inflight_mqtt3,
        inflight_mqtt5: mqtt.inflight_mqtt5,
        qos0_buffer_bytes: mqtt.qos0_output_limit as usize,
        payload_format_checked: mqtt.payload_format_checked,
        response_information_prefix: mqtt.response_information_prefix.as_str().into(),
        redirect: redirect(mqtt),
        client_id_seed: [random(), random()],
        sys_interval_s: mqtt.sys_interval_s,
    }
}

fn connection(mqtt: &Mqtt) -> server::Settings {
    server::Settings {
        maximum_packet_size: mqtt.max_packet_size,
        maximum_packet_size_before_connect: mqtt.max_packet_size_before_connect,
        connect_timeout_ms: mqtt.connect_timeout_ms,
        receive_maximum: mqtt.receive_maximum,
        topic_alias_maximum: mqtt.topic_alias_max,
        topic_alias_maximum_out: mqtt.topic_alias_max_outgoing,
        keep_alive_maximum_s: mqtt.keep_alive_max_s,
        maximum_qos: match mqtt.maximum_qos {
            0 => QoS::AtMostOnce,
            1 => QoS::AtLeastOnce,
            _ => QoS::ExactlyOnce,
        },
        retain_available: mqtt.retain_available,
        ..server::Settings::default()
    }
}

fn redirect(mqtt: &Mqtt) -> Option<Redirect> {
    let server_reference = Some(mqtt.server_reference.as_str()).filter(|reference| !reference.is_empty())?;
    Some(Redirect { server_reference: server_reference.into(), moved: mqtt.server_moved })
}

/// The standard library seeds its hash maps from the system's random numbers: here they are put to another use.
fn random() -> u64 {
    RandomState::new().hash_one(0)
}
