//! What is wrong with a configuration, and where it stands.

use std::fmt;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One thing that is wrong: file, line, word, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The way to the value, from the top.
    path: Vec<Step>,
    /// Where that is in a file.
    place: Option<Place>,
    /// Why it can't stay so.
    message: String,
}

/// A step on the way to a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into the value of a key.
    Key(&'static str),
    /// Into the n-th table or value of an array.
    Index(usize),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    file: PathBuf,
    /// 0 where there is none.
    line: usize,
    word: String,
}

/// All that is wrong, at least one fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(pub Vec<Fault>);

impl Fault {
    /// A value that can't stay so.
    pub fn of_value(path: Vec<Step>, message: impl Into<String>) -> Fault {
        Fault { path, place: None, message: message.into() }
    }

    /// A file that can't be read at all.
    pub fn of_file(file: &Path, message: impl Into<String>) -> Fault {
        let place = Place { file: file.into(), line: 0, word: String::new() };
        Fault { path: Vec::new(), place: Some(place), message: message.into() }
    }

    /// What the TOML reader found wrong in a file's text.
    pub fn of_text(file: &Path, text: &str, error: &toml::de::Error) -> Fault {
        let place = error.span().map_or_else(
            || Place { file: file.into(), line: 0, word: String::new() },
            |span| Place::new(file, text, span),
        );
        // Of some messages the rest only draws the place, which is told here in our own way.
        let message = error.message().lines().next().unwrap_or("not TOML");
        Fault { path: Vec::new(), place: Some(place), message: message.into() }
    }

    /// The same, with its place in the file that the value came from, if it did.
    pub fn located(mut self, file: &Path, text: &str) -> Fault {
        self.place = span_of(text, &self.path).map(|span| Place::new(file, text, span));
        self
    }

    /// The way to the value as the reference names it, with numbers from 1 for repeated tables.
    fn key(&self) -> String {
        self.path.iter().fold(String::new(), |key, step| match step {
            Step::Key(name) if key.is_empty() => (*name).to_owned(),
            Step::Key(name) => format!("{key}.{name}"),
            Step::Index(index) => format!("{key}[{}]", index + 1),
        })
    }
}

impl Place {
    fn new(file: &Path, text: &str, span: std::ops::Range<usize>) -> Place {
        let start = span.start.min(text.len());
        let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
        let word = text.get(span).unwrap_or_default().lines().next().unwrap_or_default().trim();
        Place { file: file.into(), line, word: word.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { file, line, word }) = &self.place {
            write!(f, "{}", file.display())?;
            match line {
                0 => write!(f, ": ")?,
                line => write!(f, ", line {line}: ")?,
            }
            if !word.is_empty() {
                write!(f, "{word}: ")?;
            }
        }
        if !self.path.is_empty() {
            write!(f, "{} ", self.key())?;
        }
        f.write_str(&self.message)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(Fault::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Faults {}

/// Where the value at the end of a path stands; where it was left out, the table around it.
fn span_of(text: &str, path: &[Step]) -> Option<std::ops::Range<usize>> {
    let (first, rest) = path.split_first()?;
    let table = DeTable::parse(text).ok()?;
    let mut value = child_of_table(table.get_ref(), *first)?;
    for step in rest {
        match child(value.get_ref(), *step) {
            Some(inner) => value = inner,
            None => break,
        }
    }
    Some(value.span())
}

fn child<'a, 'i>(value: &'a DeValue<'i>, step: Step) -> Option<&'a Spanned<DeValue<'i>>> {
    match (value, step) {
        (DeValue::Table(table), step) => child_of_table(table, step),
        (DeValue::Array(array), Step::Index(index)) => array.get(index),
        _ => None,
    }
}

fn child_of_table<'a, 'i>(table: &'a DeTable<'i>, step: Step) -> Option<&'a Spanned<DeValue<'i>>> {
    let Step::Key(name) = step else { return None };
    table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value)
}
