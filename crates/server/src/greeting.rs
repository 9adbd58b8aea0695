//! What a newcomer reads when the server has started.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use crate::configuration::{Durability, Protocol};

/// The server as it stands, to be printed.
#[derive(Debug)]
pub struct Greeting {
    /// One for each queue manager.
    pub queue_managers: Vec<Standing>,
}

/// A queue manager as it stands.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its name.
    pub name: String,
    /// Where it really listens.
    pub listeners: Vec<(Protocol, SocketAddr)>,
    /// What its acknowledgements promise.
    pub durability: Durability,
    /// Its folder.
    pub data: PathBuf,
}

impl fmt::Display for Greeting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "FerryMQ {} is ready.\n", env!("CARGO_PKG_VERSION"))?;
        for standing in &self.queue_managers {
            write!(f, "{standing}")?;
        }
        if let Some(address) = self.first_address() {
            write_example(f, address)?;
        }
        writeln!(f, "\nCtrl-C stops it.")
    }
}

impl Greeting {
    fn first_address(&self) -> Option<SocketAddr> {
        self.queue_managers
            .iter()
            .flat_map(|standing| &standing.listeners)
            .map(|(_, address)| *address)
            .next()
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Standing { name, listeners, durability, data } = self;
        writeln!(f, "Queue manager {name}")?;
        for (protocol, address) in listeners {
            writeln!(f, "  listens     {address} ({protocol})")?;
        }
        if listeners.is_empty() {
            writeln!(f, "  listens     nowhere")?;
        }
        match durability {
            Durability::Fsync => {
                writeln!(f, "  data        {}", data.display())?;
                writeln!(f, "  durability  fsync: acknowledged means on disk")
            }
            Durability::Memory => {
                writeln!(f, "  durability  memory: nothing survives the end of this process")
            }
        }
    }
}

fn write_example(f: &mut fmt::Formatter<'_>, address: SocketAddr) -> fmt::Result {
    let (host, port) = (reachable(address.ip()), address.port());
    writeln!(f, "\nTry it from two other terminals:")?;
    writeln!(f, "  mosquitto_sub -h {host} -p {port} -t 'hello/#' -v")?;
    writeln!(f, "  mosquitto_pub -h {host} -p {port} -t hello/world -q 1 -m 'Hello from FerryMQ'")
}

/// An address to connect to: a server that listens on all of them is reached through loopback.
fn reachable(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(address: &str, durability: Durability) -> String {
        let listeners = vec![(Protocol::Mqtt, address.parse().unwrap())];
        let standing = Standing { name: "QM1".into(), listeners, durability, data: "/d/QM1".into() };
        Greeting { queue_managers: vec![standing] }.to_string()
    }

    #[test]
    fn it_says_where_it_listens_where_the_data_is_and_what_to_try() {
        let text = greeting("127.0.0.1:1884", Durability::Fsync);
        for line in [
            "  listens     127.0.0.1:1884 (MQTT 3.1, 3.1.1 and 5.0)\n",
            "  data        /d/QM1\n",
            "  durability  fsync: acknowledged means on disk\n",
            "  mosquitto_sub -h 127.0.0.1 -p 1884 -t 'hello/#' -v\n",
            "  mosquitto_pub -h 127.0.0.1 -p 1884 -t hello/world -q 1 -m 'Hello from FerryMQ'\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn the_example_lines_name_an_address_that_can_be_connected_to() {
        assert!(greeting("0.0.0.0:1", Durability::Fsync).contains("-h 127.0.0.1 -p 1 "));
        assert!(greeting("[::]:1", Durability::Fsync).contains("-h ::1 -p 1 "));
    }

    #[test]
    fn memory_durability_is_said_plainly() {
        assert!(greeting("[::1]:1", Durability::Memory).contains("nothing survives"));
    }

    #[test]
    fn without_listeners_there_is_nothing_to_try() {
        let standing = Standing {
            name: "QM1".into(),
            listeners: vec![],
            durability: Durability::Fsync,
            data: "/d".into(),
        };
        let text = Greeting { queue_managers: vec![standing] }.to_string();
        assert!(text.contains("nowhere") && !text.contains("mosquitto"), "{text}");
    }
}
