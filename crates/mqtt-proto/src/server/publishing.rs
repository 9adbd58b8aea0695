//! Messages from the client, and deliveries to it.

use alloc::vec::Vec;

use super::Connection;
use crate::frame::Frame;
use crate::{DecodeError, Delivery, FanOut, Publish, QoS, ReasonCode, TooLarge, TopicAliasUse, Violation};

/// A topic name must be longer than this for an alias to be worth its three bytes and the search for it.
const SHORT_TOPIC: usize = 5;

impl Connection {
    #[inline(always)]
    pub(super) fn receive_publish<'a>(&'a mut self, frame: Frame<'a>) -> Result<Publish<'a>, Violation> {
        let mut publish = Publish::decode(frame, self.version)?;
        if publish.qos > self.settings.maximum_qos {
            return Err(DecodeError::new(ReasonCode::QoSNotSupported, "MQTT-3.2.2-11"));
        }
        if publish.retain && !self.settings.retain_available {
            return Err(DecodeError::new(ReasonCode::RetainNotSupported, "MQTT-3.2.2-14"));
        }
        if !self.version.is_5() {
            return Ok(publish);
        }
        if publish.has_subscription_identifier {
            return Err(DecodeError::protocol("MQTT-3.3.4-6"));
        }
        if publish.qos != QoS::AtMostOnce {
            self.count_unacknowledged()?;
        }
        if let Some(alias) = publish.topic_alias {
            let maximum = self.settings.topic_alias_maximum;
            self.rare().aliases_in.resolve(&mut publish, alias, maximum)?;
        }
        Ok(publish)
    }

    #[inline]
    fn count_unacknowledged(&mut self) -> Result<(), Violation> {
        if self.unacknowledged >= self.settings.receive_maximum {
            return Err(DecodeError::new(ReasonCode::ReceiveMaximumExceeded, "MQTT-3.3.4-7"));
        }
        self.unacknowledged += 1;
        Ok(())
    }

    /// QoS 1 and 2 messages of a 5.0 client that were not acknowledged yet.
    pub fn unacknowledged(&self) -> u16 {
        self.unacknowledged
    }

    /// Largest packet in bytes that the client takes.
    pub fn client_maximum_packet_size(&self) -> u32 {
        self.client_maximum_packet_size
    }

    /// Appends a PUBLISH, by topic alias where the client accepts them. What it appends must be sent: later ones rely
    /// on the aliases that it defines.
    #[inline]
    pub fn publish(&mut self, delivery: &Delivery<'_>, out: &mut Vec<u8>) -> Result<(), TooLarge> {
        let alias = self.choose_alias(delivery)?;
        delivery.encode_within(self.client_maximum_packet_size, self.version, alias, out)
    }

    /// Appends a PUBLISH without its payload, which must follow.
    #[inline]
    pub fn publish_head(&mut self, delivery: &Delivery<'_>, out: &mut Vec<u8>) -> Result<(), TooLarge> {
        let alias = self.choose_alias(delivery)?;
        delivery.encode_head_within(self.client_maximum_packet_size, self.version, alias, out)
    }

    /// As [`Connection::publish`], copied from `fan_out` where other receivers get the same bytes.
    #[inline]
    pub fn publish_shared(
        &mut self,
        delivery: &Delivery<'_>,
        fan_out: &mut FanOut,
        out: &mut Vec<u8>,
    ) -> Result<(), TooLarge> {
        if self.alias_maximum_out != 0 {
            return self.publish(delivery, out);
        }
        fan_out.encode(delivery, self.version, self.client_maximum_packet_size, out)
    }

    #[inline]
    fn choose_alias(&mut self, delivery: &Delivery<'_>) -> Result<TopicAliasUse, TooLarge> {
        if self.alias_maximum_out == 0 || delivery.topic.len() <= SHORT_TOPIC {
            return Ok(TopicAliasUse::None);
        }
        self.choose_alias_for(delivery)
    }

    fn choose_alias_for(&mut self, delivery: &Delivery<'_>) -> Result<TopicAliasUse, TooLarge> {
        let maximum = self.client_maximum_packet_size;
        // An alias must not be defined by a packet that is then too large to be sent.
        if maximum != u32::MAX {
            let packet = delivery.encoded_len(self.version, TopicAliasUse::Define(1)) as u32;
            if packet > maximum {
                return Ok(TopicAliasUse::None);
            }
        }
        let alias_maximum = self.alias_maximum_out;
        Ok(self.rare().aliases_out.choose(delivery.topic, alias_maximum))
    }
}
