//! A command carried out: servers started, scenarios run, reports written.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::command_line::RunOptions;
use crate::comparison::{Comparison, Round};
use crate::load::{self, Destination, LoadError, Outcome};
use crate::meter::Meter;
use crate::private_server::{PrivateServer, ServerError};
use crate::process::{self, Pid};
use crate::product::{Peer, Product};
use crate::progress;
use crate::report::{Report, Subject};
use crate::scenario::{Plan, Scenario, Shape, named};
use crate::table;

/// Longest run whose connections need no PINGREQ at the keep-alive announced.
const KEEP_ALIVE_S: u16 = 300;

/// Why a command gave no report.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The command line asks for what cannot be.
    #[error("{0}")]
    Asked(String),
    /// A server would not start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The load could not be run through.
    #[error("{server}: {cause}{log}")]
    Load {
        /// Which server.
        server: String,
        /// Why.
        cause: LoadError,
        /// The end of a private server's output.
        log: String,
    },
    /// The report could not be written.
    #[error("{}: {cause}", path.display())]
    Json {
        /// Where.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
}

/// Runs `name` against a server that runs already.
///
/// # Errors
/// When the scenario is unknown or the run fails.
pub fn run_target(
    name: &str,
    options: &RunOptions,
    target: SocketAddr,
    pid: Option<Pid>,
) -> Result<(), SessionError> {
    let (scenario, plan) = planned(name, options)?;
    let server = pid.or_else(|| target.ip().is_loopback().then(|| process::listening_on(target.port()))?);
    let unknown = || "unknown".to_owned();
    let subject = Subject { name: "target".to_owned(), version: target.to_string(), durability: unknown() };
    let destination = destination(&plan, target);
    let outcome = drive(&plan, &destination, Meter { server }, options.quiet);
    if let Err(error) = load::forget_sessions(&plan, &destination) {
        eprintln!("warning: sessions are left behind on {target}: {error}");
    }
    let outcome = outcome.map_err(|cause| SessionError::Load {
        server: target.to_string(),
        cause,
        log: String::new(),
    })?;
    finish_run(scenario, &Report::new(&plan, &subject, &outcome), options)
}

/// Runs `name` against a private server: ours, or `peer`.
///
/// # Errors
/// When the scenario is unknown, or server or run fail.
pub fn run_private(name: &str, options: &RunOptions, peer: Option<Peer>) -> Result<(), SessionError> {
    let (scenario, plan) = planned(name, options)?;
    let product = peer.map_or_else(|| ours(options), Product::from);
    product.program().map_err(ServerError::from)?;
    finish_run(scenario, &measure(&plan, &product, options.quiet)?, options)
}

/// Runs `name` against ours and `peer` in turn.
///
/// # Errors
/// When the scenario is unknown, or a server or a run fails.
pub fn compare(name: &str, options: &RunOptions, peer: Peer, rounds: u32) -> Result<(), SessionError> {
    let (scenario, plan) = planned(name, options)?;
    let (ours, peer) = (ours(options), Product::from(peer));
    // Both are had before anything is measured.
    [&ours, &peer].iter().try_for_each(|product| product.program().map(drop)).map_err(ServerError::from)?;
    let mut done = Vec::new();
    for round in 1..=rounds {
        let side = |product: &Product| -> Result<Report, SessionError> {
            eprintln!("{name}: round {round} of {rounds}, {}", product.name());
            let report = measure(&plan, product, options.quiet)?;
            eprint!("{}", table::report(&report, None));
            Ok(report)
        };
        done.push(Round { round, ferrymq: side(&ours)?, peer: side(&peer)? });
    }
    let comparison = Comparison::new(scenario.name, peer.name(), done);
    write_json(options.json.as_deref(), &comparison)?;
    print!("{}", table::comparison(&comparison));
    Ok(())
}

fn planned(name: &str, options: &RunOptions) -> Result<(&'static Scenario, Plan), SessionError> {
    let unknown =
        || SessionError::Asked(format!("there is no scenario {name}; `ferrymq-bench list` names them"));
    let scenario = named(name).ok_or_else(unknown)?;
    Ok((scenario, scenario.plan(&options.overrides()).map_err(SessionError::Asked)?))
}

fn ours(options: &RunOptions) -> Product {
    Product::ferrymq(options.server.clone(), options.server_config.clone())
}

fn finish_run(scenario: &Scenario, report: &Report, options: &RunOptions) -> Result<(), SessionError> {
    write_json(options.json.as_deref(), report)?;
    print!("{}", table::report(report, scenario.published));
    Ok(())
}

fn measure(plan: &Plan, product: &Product, quiet: bool) -> Result<Report, SessionError> {
    let subject = Subject {
        name: product.name().to_owned(),
        version: product.version(),
        durability: product.durability(),
    };
    let server = PrivateServer::start(product)?;
    let outcome =
        drive(plan, &destination(plan, server.address()), Meter { server: Some(server.pid()) }, quiet);
    let outcome = outcome.map_err(|cause| failure(server.log_tail(), product, cause))?;
    if let Some(remark) = server.stop() {
        eprintln!("warning: {remark}");
    }
    Ok(Report::new(plan, &subject, &outcome))
}

fn failure(log: String, product: &Product, cause: LoadError) -> SessionError {
    let log = if log.is_empty() { log } else { format!("\nit said:\n{log}") };
    SessionError::Load { server: product.name().to_owned(), cause, log }
}

fn destination(plan: &Plan, address: SocketAddr) -> Destination {
    let seconds = (plan.warmup + plan.duration).as_secs();
    let keep_alive_s = if seconds < u64::from(KEEP_ALIVE_S) / 2 { KEEP_ALIVE_S } else { 0 };
    Destination { address, run: run_number(), keep_alive_s }
}

fn drive(plan: &Plan, destination: &Destination, meter: Meter, quiet: bool) -> Result<Outcome, LoadError> {
    let mut show = |progress: &load::Progress| {
        if !quiet {
            progress::show(progress);
        }
    };
    let outcome = match plan.shape {
        Shape::ConnectBurst => load::run_connect_burst(plan, destination.clone(), meter, &mut show),
        _ => load::run_traffic(plan, destination.clone(), meter, &mut show),
    };
    if !quiet {
        progress::end();
    }
    outcome
}

/// Differs between runs, also of two harnesses at once.
fn run_number() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_millis() as u32).wrapping_mul(0x9E37_79B9) ^ std::process::id()
}

fn write_json(path: Option<&Path>, report: &impl Serialize) -> Result<(), SessionError> {
    let Some(path) = path else { return Ok(()) };
    let failed = |cause| SessionError::Json { path: path.to_owned(), cause };
    let mut text = serde_json::to_string_pretty(report).map_err(|error| failed(error.into()))?;
    text.push('\n');
    fs::write(path, text).map_err(failed)
}
