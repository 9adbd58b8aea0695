//! Rust source with comments and literals blanked out, so that a rule can look for words without being misled by
//! text. Line breaks stay where they are: a position in the masked text is a position in the source.

/// The source with every comment and every string and character literal replaced by spaces.
pub fn masked(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = literal_end(bytes, at);
        if end == at {
            at += 1;
        } else {
            blank(&mut out[at..end]);
            at = end;
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Where the comment or literal that starts at `at` ends; `at` if none starts there.
fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    match rest {
        [b'/', b'/', ..] => at + rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => at + block_comment(rest),
        [b'"', ..] => at + string(rest),
        [b'\'', ..] => at + character(rest),
        [b'r', ..] if !continues_word(bytes, at) => at + raw_string(rest, 1),
        [b'b', b'r', ..] if !continues_word(bytes, at) => at + raw_string(rest, 2),
        _ => at,
    }
}

fn continues_word(bytes: &[u8], at: usize) -> bool {
    at > 0 && is_word(bytes[at - 1])
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

/// Block comments nest.
fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

fn string(rest: &[u8]) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// `'x'`, `'\n'`, `'é'` are literals; `'a` is a lifetime.
fn character(rest: &[u8]) -> usize {
    match rest {
        [_, b'\\', _, tail @ ..] => 3 + tail.iter().position(|&b| b == b'\'').map_or(0, |n| n + 1),
        [_, first, ..] if *first < 0x80 => {
            if rest.get(2) == Some(&b'\'') {
                3
            } else {
                0
            }
        }
        _ => rest.iter().skip(1).take(5).position(|&b| b == b'\'').map_or(0, |n| n + 2),
    }
}

fn raw_string(rest: &[u8], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|&&b| b == b'#').count();
    if rest.get(prefix + hashes) != Some(&b'"') {
        return 0;
    }
    let close: Vec<u8> = [b'"'].into_iter().chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = prefix + hashes + 1;
    rest[body..].windows(close.len()).position(|w| w == close).map_or(rest.len(), |n| body + n + close.len())
}

fn blank(span: &mut [u8]) {
    span.iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
}

/// Masked source with every item under `#[cfg(test)]` blanked out as well.
pub fn without_tests(masked: &str) -> String {
    let mut out = masked.as_bytes().to_vec();
    let mut from = 0;
    while let Some(found) = masked[from..].find("#[cfg(test)]") {
        let start = from + found;
        let end = item_end(masked.as_bytes(), start);
        blank(&mut out[start..end]);
        from = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The end of the item whose attributes start at `start`: a `;` outside brackets, or the brace that closes its body.
fn item_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && matches!(byte, b';' | b'}') {
            return at + 1;
        }
    }
    bytes.len()
}

/// Every identifier-like word with the line it stands on, counted from 1.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(index, line)| {
        line.split(|c: char| c != '_' && !c.is_alphanumeric())
            .filter(|w| !w.is_empty())
            .map(move |w| (index + 1, w))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_lines_stay() {
        let source =
            "let a = \"std::{\"; // std\n/* x /* y */ */ let b = '{'; let c = r#\"\"}\"#;\nfn f<'a>() {}";
        let out = masked(source);
        assert_eq!(out.lines().count(), 3);
        assert!(!out.contains("std") && !out.contains('"'));
        assert_eq!(out.matches('{').count(), 1);
        assert!(out.ends_with("fn f<'a>() {}"));
    }

    #[test]
    fn escaped_quotes_do_not_end_a_literal() {
        assert_eq!(masked(r#"x("\"{", '\'', '\u{7b}')"#).matches('{').count(), 0);
    }

    #[test]
    fn a_name_that_ends_in_r_starts_no_raw_string() {
        assert!(masked("for r in var { r }").contains("{ r }"));
    }

    #[test]
    fn items_under_cfg_test_are_left_out_and_the_rest_is_not() {
        let source = "#[cfg(test)]\nextern crate std;\nfn a() {}\n#[cfg(test)]\nmod tests { fn b() { std::x() } }\nfn c() {}";
        let out = without_tests(source);
        assert!(out.contains("fn a()") && out.contains("fn c()"));
        assert!(!out.contains("std") && !out.contains("fn b"));
    }

    #[test]
    fn words_know_their_line() {
        assert_eq!(words("a_1 b\n c::d").collect::<Vec<_>>(), [(1, "a_1"), (1, "b"), (2, "c"), (2, "d")]);
    }
}
