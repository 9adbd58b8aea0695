//! The MQTT service: protocol events to queue manager commands, effects to packets
