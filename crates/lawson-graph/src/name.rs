//! Names in texts: which ones stand bare, how all others are quoted, and how quotes are read back.
//!
//! Dimension expressions, attributes and the text form share these rules, so that whatever one prints the other reads.

use std::borrow::Cow;
use std::fmt;

/// Whether a bare name may begin with this character.
pub(crate) fn is_name_start(c: char) -> bool {
    c.is_alphabetic() || c == '_' || c == '?'
}

/// Whether a bare name may go on with this character.
pub(crate) fn is_name_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '?' || c == '.'
}

/// Whether the name may stand bare.
pub fn is_bare(name: &str) -> bool {
    name.starts_with(is_name_start) && name.chars().all(is_name_part)
}

/// Whether a symbol of that name may stand bare: not if an attribute would take it for something else.
pub fn is_bare_symbol(name: &str) -> bool {
    is_bare(name) && !matches!(name, "true" | "false" | "inf" | "nan" | "min" | "max")
}

/// Prints a text in double quotes, with escapes.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quoted(f, self.0, '"')
    }
}

/// Prints a name bare where it may stand so, in double quotes elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a>(pub &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_bare(self.0) { f.write_str(self.0) } else { write_quoted(f, self.0, '"') }
    }
}

/// Prints a text in the given quotes, with escapes that `unescape` reads back.
pub(crate) fn write_quoted(f: &mut fmt::Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    write!(f, "{quote}")?;
    for c in text.chars() {
        match c {
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            c if c == quote => write!(f, "\\{c}")?,
            c if c.is_control() => write!(f, "\\u{{{:x}}}", c as u32)?,
            c => write!(f, "{c}")?,
        }
    }
    write!(f, "{quote}")
}

/// How long the quoted text at the beginning of `rest` is, both quotes included; `Err` is where it breaks off.
pub(crate) fn quoted_length(rest: &str, quote: char) -> Result<usize, usize> {
    let mut escaped = false;
    for (i, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return Err(i),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Ok(i + 1),
            _ => {}
        }
    }
    Err(rest.len())
}

/// The text inside quotes with its escapes replaced; `Err` is the byte offset of an escape that has no meaning.
pub(crate) fn unescape(inside: &str) -> Result<Cow<'_, str>, usize> {
    if !inside.contains('\\') {
        return Ok(Cow::Borrowed(inside));
    }
    let mut out = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let bad = inside.len() - rest.len() + at;
        let escape = &rest[at + 1..];
        let (c, length) = match escape.chars().next() {
            Some(c @ ('"' | '\'' | '\\')) => (c, 1),
            Some('n') => ('\n', 1),
            Some('t') => ('\t', 1),
            Some('r') => ('\r', 1),
            Some('u') => {
                let end = escape.find('}').ok_or(bad)?;
                let digits = escape.get(1..end).and_then(|s| s.strip_prefix('{')).ok_or(bad)?;
                let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or(bad)?;
                (code, end + 1)
            }
            _ => return Err(bad),
        };
        out.push(c);
        rest = &escape[length..];
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_come_back() {
        for text in ["plain", "a\"b\\c\n\t\r\u{1}é'", "\u{10ffff}", ""] {
            let printed = Quoted(text).to_string();
            assert_eq!(quoted_length(&printed, '"'), Ok(printed.len()));
            assert_eq!(unescape(&printed[1..printed.len() - 1]).unwrap(), text);
        }
        assert_eq!(unescape("ab\\x"), Err(2));
        assert_eq!(unescape("\\u{110000}"), Err(0));
        assert_eq!(unescape("\\u{é}"), Err(0));
        assert_eq!(unescape("\\ué{1}"), Err(0));
        assert_eq!(unescape("\\"), Err(0));
    }

    #[test]
    fn bare_names_are_words() {
        for bare in ["x", "_", "layer.0.weight", "?0", "größe"] {
            assert!(is_bare(bare), "{bare}");
        }
        for odd in ["", "0", "1x", "a/b", "a b", ".x", "a-b", "a\"", "%x"] {
            assert!(!is_bare(odd), "{odd}");
        }
        assert!(!is_bare_symbol("nan"));
    }
}
