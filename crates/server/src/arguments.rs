//! The command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::configuration::{AnonymousFrom, Configuration, Listener, Protocol};

/// FerryMQ: an MQTT broker with a queue manager inside.
///
/// `ferrymq serve` is all it takes: MQTT 3.1, 3.1.1 and 5.0 on 127.0.0.1:1883, every acknowledged message on disk
/// in ./data. Ctrl-C stops it.
#[derive(Debug, Parser)]
#[command(name = "ferrymq", version, propagate_version = true, arg_required_else_help = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What `ferrymq` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server until SIGINT (Ctrl-C), SIGTERM or SIGHUP
    Serve(Serve),
    /// Look at the configuration without starting anything
    #[command(subcommand)]
    Config(Config),
}

/// What `ferrymq serve` can be told.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Serve {
    /// Configuration file; without it, one queue manager QM1 on 127.0.0.1:1883
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What the command line changes in it.
    #[command(flatten)]
    pub changes: Changes,
    /// What is logged to stderr: error, warn, info, debug, trace, or per module as in RUST_LOG
    #[arg(long, value_name = "FILTER", default_value = "info")]
    pub log: String,
}

/// What the command line changes in a configuration.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Changes {
    /// Folder for all data [default: data]
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Where the (first) queue manager listens instead; may be repeated; port 0 takes a free one
    #[arg(long, value_name = "mqtt=127.0.0.1:1883", value_parser = listener)]
    pub listen: Vec<Listener>,
    /// From where clients may come without a password; `any` is needed to listen beyond this machine
    #[arg(long, value_name = "WHERE")]
    pub allow_anonymous_from: Option<AnonymousFrom>,
}

/// What `ferrymq config` can do.
#[derive(Debug, Subcommand)]
pub enum Config {
    /// Print what would hold, defaults included
    Show {
        /// Configuration file; without it, the defaults
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// What the command line changes in it.
        #[command(flatten)]
        changes: Changes,
    },
    /// Say what is wrong with a file, by line and word; exit 0 if nothing is
    Check {
        /// Configuration file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Print the reference of all keys, in Markdown
    Reference,
}

impl Changes {
    /// Writes them into a configuration.
    pub fn apply(self, configuration: &mut Configuration) {
        if let Some(data_dir) = self.data_dir {
            configuration.data_dir = data_dir;
        }
        if let Some(from) = self.allow_anonymous_from {
            configuration.queue_manager.iter_mut().for_each(|q| q.allow_anonymous_from = from);
        }
        if let (false, Some(first)) = (self.listen.is_empty(), configuration.queue_manager.first_mut()) {
            first.listener = self.listen;
        }
    }
}

fn listener(text: &str) -> Result<Listener, String> {
    let (protocol, address) = text.split_once('=').ok_or("write it as mqtt=127.0.0.1:1883")?;
    if protocol != "mqtt" {
        return Err(format!("the protocol {protocol} is not known; mqtt is"));
    }
    let address: SocketAddr = address
        .parse()
        .map_err(|_| format!("{address} is not an address with a port, like 127.0.0.1:1883 or [::1]:1883"))?;
    Ok(Listener { protocol: Protocol::Mqtt, address })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn serve(words: &[&str]) -> Result<Serve, String> {
        let words = ["ferrymq", "serve"].iter().chain(words);
        match Arguments::try_parse_from(words).map_err(|error| error.to_string())?.command {
            Command::Serve(serve) => Ok(serve),
            Command::Config(_) => Err("config".into()),
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn serve_takes_what_scripts_call_it_with() {
        let words = [
            "--config",
            "f.toml",
            "--data-dir",
            "d",
            "--listen",
            "mqtt=127.0.0.1:0",
            "--listen",
            "mqtt=[::1]:1",
        ];
        let serve = serve(&words).unwrap();
        assert_eq!(serve.config, Some("f.toml".into()));
        let mut configuration = Configuration::default();
        serve.changes.apply(&mut configuration);
        assert_eq!(configuration.data_dir, PathBuf::from("d"));
        let addresses: Vec<String> = configuration.queue_manager[0]
            .listener
            .iter()
            .map(|listener| listener.address.to_string())
            .collect();
        assert_eq!(addresses, ["127.0.0.1:0", "[::1]:1"]);
    }

    #[test]
    fn without_options_the_configuration_stays() {
        let mut configuration = Configuration::default();
        serve(&[]).unwrap().changes.apply(&mut configuration);
        assert_eq!(configuration, Configuration::default());
    }

    #[test]
    fn a_listener_that_makes_no_sense_is_refused_with_an_example() {
        for (text, says) in [
            ("127.0.0.1:1883", "write it as mqtt=127.0.0.1:1883"),
            ("http=127.0.0.1:1883", "the protocol http is not known; mqtt is"),
            ("mqtt=1883", "1883 is not an address with a port, like 127.0.0.1:1883"),
        ] {
            let error = serve(&["--listen", text]).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
