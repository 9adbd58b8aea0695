//! How long functions are: the median and the nine tenths of STYLE.md, over all of the workspace.

use crate::{SourceFile, Violation, masked};

/// Lines that the median function stays under.
const MEDIAN_UNDER: usize = 10;
/// Lines that nine functions in ten stay under.
const NINE_IN_TEN_UNDER: usize = 40;

/// The lengths of functions in lines, from the line of `fn` to the line of the closing brace, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lengths(Vec<usize>);

impl Lengths {
    /// The length that half of the functions do not exceed; 0 without functions.
    pub fn median(&self) -> usize {
        self.at(self.0.len() / 2)
    }

    /// The length that nine functions in ten do not exceed; 0 without functions.
    pub fn nine_in_ten(&self) -> usize {
        self.at(self.0.len() * 9 / 10)
    }

    /// How many functions.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    fn at(&self, index: usize) -> usize {
        self.0.get(index).copied().unwrap_or_default()
    }
}

/// Measures every function with a body in the Rust files among `files`.
pub fn lengths(files: &[SourceFile]) -> Lengths {
    let rust = files.iter().filter(|f| f.path.ends_with(".rs"));
    let mut all: Vec<usize> = rust.flat_map(|f| file_lengths(&masked(&f.text))).collect();
    all.sort_unstable();
    Lengths(all)
}

/// Whether the functions of the workspace have the shape of STYLE.md.
pub fn shape(lengths: &Lengths) -> Vec<Violation> {
    let (median, tenth) = (lengths.median(), lengths.nine_in_ten());
    let mut out = Vec::new();
    if median >= MEDIAN_UNDER {
        out.push(Violation(format!("the median function has {median} lines, not under {MEDIAN_UNDER}")));
    }
    if tenth >= NINE_IN_TEN_UNDER {
        out.push(Violation(format!(
            "one function in ten has {tenth} lines or more, not under {NINE_IN_TEN_UNDER}"
        )));
    }
    out
}

fn file_lengths(code: &str) -> Vec<usize> {
    let starts = code.match_indices("fn ").filter(|(at, _)| is_definition(code, *at));
    starts
        .filter_map(|(at, _)| body_end(&code[at..]).map(|end| code[at..at + end].matches('\n').count() + 1))
        .collect()
}

/// `fn name`, not the tail of a longer word; a function pointer type has no space after `fn`.
fn is_definition(code: &str, at: usize) -> bool {
    !code[..at].chars().next_back().is_some_and(|c| c == '_' || c.is_alphanumeric())
}

/// Where the body of the function that starts `code` ends; `None` for a declaration without one.
fn body_end(code: &str) -> Option<usize> {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.checked_sub(1)?,
            '{' => braces += 1,
            '}' if braces == 1 => return Some(at + 1),
            '}' => braces = braces.checked_sub(1)?,
            ';' if braces == 0 && brackets == 0 => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Lengths {
        lengths(&[SourceFile { path: "a.rs".into(), text: text.into() }])
    }

    #[test]
    fn functions_are_measured_from_fn_to_the_closing_brace() {
        let text = "//! X.\nfn a() {}\npub fn b(x: [u8; 2]) -> u8 {\n    if x[0] > 0 { 1 } else {\n \"}\".len() }\n}\n";
        assert_eq!(of(text), Lengths(vec![1, 4]));
    }

    #[test]
    fn declarations_and_pointer_types_are_no_functions() {
        assert_eq!(of("trait T { fn a(&self); }\ntype F = fn(u8) -> u8;\nfn b() {}\n"), Lengths(vec![1]));
    }

    #[test]
    fn nested_functions_count_for_themselves() {
        assert_eq!(of("fn a() {\n    fn b() {}\n    b()\n}\n").count(), 2);
    }

    #[test]
    fn long_functions_are_found() {
        let long = |lines: usize| format!("fn f() {{\n{}}}\n", "x();\n".repeat(lines - 2));
        assert_eq!(shape(&of(&long(9))), []);
        assert_eq!(shape(&of(&long(10))).len(), 1);
        let mixed = "fn s() {}\n".repeat(8) + &long(40).repeat(2);
        assert_eq!(shape(&of(&mixed)).len(), 1);
        assert_eq!(shape(&of(&long(40))).len(), 2);
    }
}
