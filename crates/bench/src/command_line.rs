//! What can be asked on the command line.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use crate::process::Pid;
use crate::product::Peer;
use crate::scenario::Overrides;

/// The harness: drives a server with a named workload and says what it cost.
#[derive(Debug, Parser)]
#[command(name = "ferrymq-bench", version)]
pub struct CommandLine {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The three commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Names the scenarios and the figures published for them.
    List,
    /// Runs one scenario against one server.
    Run {
        /// The scenario.
        name: String,
        /// Scale and shape.
        #[command(flatten)]
        options: RunOptions,
        /// A server that runs already, as mqtt://host:port; without it a private one is started and stopped.
        #[arg(long, value_parser = target)]
        target: Option<SocketAddr>,
        /// The process of that server; found by its port when it is on this machine.
        #[arg(long, requires = "target")]
        server_pid: Option<Pid>,
        /// Starts this peer as the private server instead of ferrymq.
        #[arg(long, value_enum, conflicts_with = "target")]
        peer: Option<Peer>,
    },
    /// Runs one scenario against a private ferrymq and a private peer in turn: A B A B …
    Compare {
        /// The scenario.
        name: String,
        /// Whom to compare with; installed if it is not there.
        #[arg(long, value_enum)]
        peer: Peer,
        /// How often each side runs.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
        rounds: u32,
        /// Scale and shape.
        #[command(flatten)]
        options: RunOptions,
    },
}

/// What scales and shapes a run.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Connections of the side that scales: pairs, publishers of a fan-in, subscribers of a fan-out.
    #[arg(long)]
    clients: Option<u32>,
    /// Messages a second offered in all (of a fan-out: delivered in all): an open loop by intended send time.
    #[arg(long)]
    rate: Option<f64>,
    /// Measured seconds.
    #[arg(long, value_parser = seconds)]
    duration: Option<Duration>,
    /// Seconds before the measured ones.
    #[arg(long, value_parser = seconds)]
    warmup: Option<Duration>,
    /// Payload bytes, 24 at least.
    #[arg(long)]
    size: Option<usize>,
    /// Quality of service 0, 1 or 2.
    #[arg(long)]
    qos: Option<u8>,
    /// Messages in flight of a closed loop: of the whole test at QoS 0, of each publisher above.
    #[arg(long)]
    window: Option<u32>,
    /// Writes the report as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Shows no progress.
    #[arg(long)]
    pub quiet: bool,
    /// The ferrymq to start; by default the one beside this program.
    #[arg(long, value_name = "PROGRAM")]
    pub server: Option<PathBuf>,
    /// The configuration to start it with.
    #[arg(long, value_name = "FILE")]
    pub server_config: Option<PathBuf>,
}

impl RunOptions {
    /// What is to differ from the scenario.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            clients: self.clients,
            rate: self.rate,
            size: self.size,
            qos: self.qos,
            window: self.window,
            duration: self.duration,
            warmup: self.warmup,
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text} is not a number of seconds"))?;
    Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())
}

/// `mqtt://host:port`; the port may be left out (1883), the scheme too.
fn target(text: &str) -> Result<SocketAddr, String> {
    let authority = text.strip_prefix("mqtt://").unwrap_or(text).trim_end_matches('/');
    if authority.contains("://") {
        return Err(format!("{text}: only mqtt:// is spoken"));
    }
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let authority = if has_port { authority.to_owned() } else { format!("{authority}:1883") };
    let addresses = authority.to_socket_addrs().map_err(|error| format!("{authority}: {error}"))?;
    let mut addresses: Vec<_> = addresses.collect();
    // localhost is often ::1 first, where no server listens.
    addresses.sort_by_key(SocketAddr::is_ipv6);
    addresses.first().copied().ok_or_else(|| format!("{authority} has no address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        CommandLine::command().debug_assert();
    }

    #[test]
    fn the_contracts_lines_are_understood() {
        let run = "ferrymq-bench run pair-q1 --target mqtt://127.0.0.1:1883 --clients 5 --rate 100 --duration 2 --size 64 \
            --json x.json --qos 2 --window 7 --warmup 0.5 --quiet";
        let line = CommandLine::try_parse_from(run.split_ascii_whitespace()).expect("understood");
        let Command::Run { options, target, .. } = line.command else { panic!("run") };
        assert_eq!(target, Some("127.0.0.1:1883".parse().expect("an address")));
        assert_eq!(options.overrides().warmup, Some(Duration::from_millis(500)));
        let compare = "ferrymq-bench compare xr-fan-in-5 --peer nats --rounds 2 --json y.json";
        assert!(CommandLine::try_parse_from(compare.split_ascii_whitespace()).is_ok());
        assert!(CommandLine::try_parse_from("ferrymq-bench compare x --peer emqx".split(' ')).is_err());
    }

    #[test]
    fn a_target_may_leave_out_scheme_and_port_but_not_change_the_protocol() {
        let address = |text| target(text).map(|a| a.to_string());
        assert_eq!(address("mqtt://127.0.0.1").as_deref(), Ok("127.0.0.1:1883"));
        assert_eq!(address("127.0.0.1:99").as_deref(), Ok("127.0.0.1:99"));
        assert!(address("mqtts://127.0.0.1").is_err());
    }
}
