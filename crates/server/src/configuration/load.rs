//! From a file, or from nothing, to a configuration that was checked.

use std::fs;
use std::path::Path;

use super::{Configuration, Fault, Faults};

impl Configuration {
    /// Reads and checks a file, changed by what the command line says. Without a file the defaults hold.
    ///
    /// # Errors
    /// All that is wrong, each with file, line and word.
    pub fn load(
        file: Option<&Path>,
        change: impl FnOnce(&mut Configuration),
    ) -> Result<Configuration, Faults> {
        let Some(file) = file else { return Configuration::from_text(Path::new(""), "", change) };
        let text = fs::read_to_string(file)
            .map_err(|error| Faults(vec![Fault::of_file(file, format!("cannot be read: {error}"))]))?;
        Configuration::from_text(file, &text, change)
    }

    /// The same from the text of a file.
    pub fn from_text(
        file: &Path,
        text: &str,
        change: impl FnOnce(&mut Configuration),
    ) -> Result<Configuration, Faults> {
        let mut configuration: Configuration =
            toml::from_str(text).map_err(|error| Faults(vec![Fault::of_text(file, text, &error)]))?;
        change(&mut configuration);
        let faults = configuration.faults();
        if faults.is_empty() {
            return Ok(configuration);
        }
        Err(Faults(faults.into_iter().map(|fault| fault.located(file, text)).collect()))
    }
}
