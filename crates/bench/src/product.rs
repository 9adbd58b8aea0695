//! The servers that can be measured: where each comes from, how it is started, and what its acknowledgements promise.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A server program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Product {
    /// Ours.
    FerryMq {
        /// The program; by default beside this one.
        program: PathBuf,
        /// A configuration file instead of the defaults.
        config: Option<PathBuf>,
    },
    /// Eclipse mosquitto as Debian packages it.
    Mosquitto,
    /// nats-server from the Go module proxy.
    Nats,
}

/// A peer to compare with, as `--peer` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Peer {
    /// Eclipse mosquitto from Debian.
    Mosquitto,
    /// nats-server through the Go module proxy.
    Nats,
}

/// Why a server could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ProductError {
    /// There is no such file.
    #[error("{} is not there; build it with `cargo build --release`, or name it with --server", .0.display())]
    NotBuilt(PathBuf),
    /// The peer could not be installed.
    #[error("cannot install {peer} with `{command}`: {cause}")]
    NotInstalled {
        /// Which peer.
        peer: &'static str,
        /// The command tried.
        command: String,
        /// What went wrong.
        cause: String,
    },
    /// A file could not be written or read.
    #[error("{}: {cause}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
}

/// Ports and directory of one private server.
#[derive(Clone, Debug)]
pub struct Place {
    /// Private directory, data and configuration.
    pub dir: PathBuf,
    /// The MQTT port, on 127.0.0.1.
    pub port: u16,
    /// Another free port.
    pub second_port: u16,
}

impl From<Peer> for Product {
    fn from(peer: Peer) -> Self {
        match peer {
            Peer::Mosquitto => Self::Mosquitto,
            Peer::Nats => Self::Nats,
        }
    }
}

impl Product {
    /// Our server beside this program, or as named.
    pub fn ferrymq(program: Option<PathBuf>, config: Option<PathBuf>) -> Self {
        let beside = || std::env::current_exe().unwrap_or_default().with_file_name("ferrymq");
        Self::FerryMq { program: program.unwrap_or_else(beside), config }
    }

    /// The name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::FerryMq { .. } => "ferrymq",
            Self::Mosquitto => "mosquitto",
            Self::Nats => "nats",
        }
    }

    /// The program, installed first where it is a peer that is not there.
    ///
    /// # Errors
    /// When it is neither there nor to be had.
    pub fn program(&self) -> Result<PathBuf, ProductError> {
        match self {
            Self::FerryMq { program, .. } if program.is_file() => Ok(program.clone()),
            Self::FerryMq { program, .. } => Err(ProductError::NotBuilt(program.clone())),
            Self::Mosquitto => found_or_installed("mosquitto", &mosquitto_places(), INSTALL_MOSQUITTO, &[]),
            Self::Nats => {
                let cache = peer_cache();
                let go_places = [("go", INSTALL_NATS), ("/usr/local/go/bin/go", INSTALL_NATS)];
                let environment = [("GOBIN", cache.clone().into_os_string())];
                found_or_installed("nats-server", &[cache.join("nats-server")], &go_places, &environment)
            }
        }
    }

    /// The command that starts the server at `place`, its configuration written there.
    ///
    /// # Errors
    /// When there is no program, or the configuration cannot be written.
    pub fn command(&self, place: &Place) -> Result<Command, ProductError> {
        let mut command = Command::new(self.program()?);
        match self {
            Self::FerryMq { config, .. } => {
                command.arg("serve").arg("--data-dir").arg(place.dir.join("data"));
                command.arg("--listen").arg(format!("mqtt=127.0.0.1:{}", place.port));
                command.args(config.iter().flat_map(|file| [OsString::from("--config"), file.into()]));
            }
            Self::Mosquitto => {
                command
                    .arg("-c")
                    .arg(place.write("mosquitto.conf", include_str!("../peers/mosquitto.conf"))?);
            }
            Self::Nats => {
                command.arg("-c").arg(place.write("nats.conf", include_str!("../peers/nats.conf"))?);
            }
        }
        Ok(command)
    }

    /// What an acknowledgement above QoS 0 survives. Ours as configured: `fsync` unless the file says otherwise.
    pub fn durability(&self) -> String {
        match self {
            Self::FerryMq { config: None, .. } => "fsync".to_owned(),
            Self::FerryMq { config: Some(file), .. } => {
                let table = fs::read_to_string(file).ok().and_then(|text| text.parse::<toml::Table>().ok());
                table.as_ref().and_then(durability_in).unwrap_or_else(|| "fsync".to_owned())
            }
            Self::Mosquitto => "memory".to_owned(),
            Self::Nats => "file store, synced every 2 min (QoS 0: memory)".to_owned(),
        }
    }

    /// The first line the program says of its version.
    pub fn version(&self) -> String {
        let flag = match self {
            Self::FerryMq { .. } | Self::Nats => "--version",
            Self::Mosquitto => "-h",
        };
        let said = self.program().ok().and_then(|program| Command::new(program).arg(flag).output().ok());
        let text = said.map(|s| String::from_utf8_lossy(&s.stdout).into_owned()).unwrap_or_default();
        text.lines().next().unwrap_or("version unknown").trim().to_owned()
    }
}

/// The value of the key `durability`, wherever it stands.
fn durability_in(table: &toml::Table) -> Option<String> {
    if let Some(value) = table.get("durability").and_then(toml::Value::as_str) {
        return Some(value.to_ascii_lowercase());
    }
    table.values().find_map(|value| match value {
        toml::Value::Table(inner) => durability_in(inner),
        toml::Value::Array(items) => items.iter().filter_map(toml::Value::as_table).find_map(durability_in),
        _ => None,
    })
}

impl Place {
    fn write(&self, name: &str, template: &str) -> Result<PathBuf, ProductError> {
        let path = self.dir.join(name);
        let text = template
            .replace("{port}", &self.port.to_string())
            .replace("{second_port}", &self.second_port.to_string())
            .replace("{dir}", &self.dir.to_string_lossy());
        fs::write(&path, text).map_err(|cause| ProductError::File { path: path.clone(), cause })?;
        Ok(path)
    }
}

/// Debian puts servers where a user's PATH does not look.
fn mosquitto_places() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    places.map(|dir| dir.join("mosquitto")).collect()
}

const INSTALL_MOSQUITTO: &[(&str, &[&str])] =
    &[("apt-get", &["update"]), ("apt-get", &["install", "-y", "mosquitto"])];
const INSTALL_NATS: &[&str] = &["install", "github.com/nats-io/nats-server/v2@latest"];

/// Where built peers are kept between runs.
fn peer_cache() -> PathBuf {
    let home = std::env::var_os("HOME").map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
    std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| home.join(".cache"), PathBuf::from)
        .join("ferrymq/peers")
}

/// The first of `places` that is a file; else the first of `installers` that succeeds and makes it one.
fn found_or_installed(
    peer: &'static str,
    places: &[PathBuf],
    installers: &[(&str, &[&str])],
    environment: &[(&str, OsString)],
) -> Result<PathBuf, ProductError> {
    let found = || places.iter().find(|place| place.is_file()).cloned();
    let mut failure = None;
    for (program, arguments) in installers {
        if let Some(place) = found() {
            return Ok(place);
        }
        failure = install(peer, program, arguments, environment).err();
    }
    found().ok_or_else(|| {
        failure.unwrap_or_else(|| not_installed(peer, "", "it is not where it was to be installed"))
    })
}

fn install(
    peer: &'static str,
    program: &str,
    arguments: &[&str],
    environment: &[(&str, OsString)],
) -> Result<(), ProductError> {
    let line = format!("{program} {}", arguments.join(" "));
    eprintln!("installing {peer}: {line}");
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.iter().map(|(k, v)| (k, v))).current_dir(Path::new("/"));
    match command.stdout(std::process::Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(not_installed(peer, &line, &status.to_string())),
        Err(cause) => Err(not_installed(peer, &line, &cause.to_string())),
    }
}

fn not_installed(peer: &'static str, command: &str, cause: &str) -> ProductError {
    ProductError::NotInstalled { peer, command: command.to_owned(), cause: cause.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durability_is_fsync_unless_the_configuration_says_otherwise() {
        let read = |text: &str| durability_in(&text.parse().expect("toml"));
        assert_eq!(read("[[queue_manager]]\nname = 'A'\ndurability = 'Memory'").as_deref(), Some("memory"));
        assert_eq!(read("[listener]\nport = 1"), None);
        assert_eq!(Product::ferrymq(None, None).durability(), "fsync");
    }

    #[test]
    fn the_peers_configurations_have_their_places_filled_in() {
        let dir = std::env::temp_dir().join(format!("ferrymq-bench-product-{}", std::process::id()));
        fs::create_dir_all(&dir).expect("a directory");
        let place = Place { dir: dir.clone(), port: 4711, second_port: 4712 };
        for template in [include_str!("../peers/mosquitto.conf"), include_str!("../peers/nats.conf")] {
            let text = fs::read_to_string(place.write("x.conf", template).expect("written")).expect("read");
            assert!(text.contains("4711") && !text.contains("{port}") && !text.contains("{dir}"));
        }
        fs::remove_dir_all(dir).expect("removed");
    }

    #[test]
    fn a_server_that_was_not_built_is_named() {
        let error = Product::ferrymq(Some("/nowhere/ferrymq".into()), None).program().expect_err("not there");
        assert!(error.to_string().contains("/nowhere/ferrymq"));
    }
}
