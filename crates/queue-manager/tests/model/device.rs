//! A client that keeps its protocol state as a correct one does (MQTT 4.3, 4.4).

use std::collections::BTreeMap;

use ferrymq_message::QoS;

use crate::shadow::MessageId;

/// What a device has been sent and has not answered to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owed {
    /// PUBACK or PUBREC.
    Message(QoS),
    /// Waits for the PUBREL.
    Received,
    /// PUBCOMP.
    Completion,
}

/// A message of its own that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    pub tag: u16,
    pub id: MessageId,
    pub qos: QoS,
    /// PUBREC came.
    pub received: bool,
    /// PUBREL was sent.
    pub released: bool,
}

#[derive(Debug, Default)]
pub struct Device {
    pub connection: Option<u64>,
    /// The answer to its connect has come.
    pub connected: bool,
    /// It has forgotten its state, and was not told yet that the server has: it asks for a clean start.
    pub fresh: bool,
    pub receive_maximum: u16,
    pub owed: BTreeMap<u16, (MessageId, Owed)>,
    /// QoS 2 messages that it has taken, until they are released.
    pub held: BTreeMap<u16, MessageId>,
    pub own: Vec<Own>,
    /// Tags that it has said to have received though it was sent nothing.
    pub lied: Vec<u16>,
}

impl Device {
    pub fn lose_connection(&mut self) {
        self.connection = None;
        self.connected = false;
        self.owed.clear();
    }

    pub fn forget(&mut self) {
        self.fresh = true;
        self.held.clear();
        self.own.clear();
    }

    pub fn free_tag(&self, wanted: u16) -> Option<u16> {
        (0..12).map(|n| (wanted + n) % 12 + 1).find(|tag| self.own.iter().all(|own| own.tag != *tag))
    }

    pub fn own(&mut self, tag: u16) -> Option<&mut Own> {
        self.own.iter_mut().find(|own| own.tag == tag)
    }

    /// Takes a message under its tag; true if its application gets it. Fails if the tag is not free for it.
    pub fn take(&mut self, tag: u16, id: MessageId, qos: QoS) -> Result<bool, String> {
        if let Some((other, _)) = self.owed.get(&tag) {
            return Err(format!("tag {tag} for message {id} is still used for {other}"));
        }
        if let Some(other) = self.held.get(&tag).filter(|other| **other != id || qos < QoS::ExactlyOnce) {
            return Err(format!("tag {tag} for message {id} was not released for {other}"));
        }
        self.owed.insert(tag, (id, Owed::Message(qos)));
        if self.owed.len() > usize::from(self.receive_maximum) {
            return Err(format!("{} unsettled, {} allowed", self.owed.len(), self.receive_maximum));
        }
        Ok(qos < QoS::ExactlyOnce || self.held.insert(tag, id).is_none())
    }

    /// PUBREL: it forgets the tag and owes a PUBCOMP.
    pub fn release(&mut self, tag: u16) -> Result<(), String> {
        match self.owed.get(&tag) {
            Some((id, Owed::Message(_))) => {
                return Err(format!("tag {tag} of {id} released before its PUBREC"));
            }
            Some((_, Owed::Received | Owed::Completion)) | None => {}
        }
        self.held.remove(&tag);
        self.owed.insert(tag, (MessageId::MAX, Owed::Completion));
        Ok(())
    }
}
