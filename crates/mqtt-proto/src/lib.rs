//! MQTT 3.1, 3.1.1 and 5.0 as bytes and state machines, client and server roles
