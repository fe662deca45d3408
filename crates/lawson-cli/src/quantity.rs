//! Counts and sizes for people: numbers with a unit's prefix, expressions as they are.

use lawson::graph::Dim;
use serde_json::{Value as Json, json};

/// A count with its unit, such as `1.57 Mflop`; an expression stays one.
pub fn quantity(dim: &Dim, unit: &str) -> String {
    match dim.as_const() {
        Some(n) => format!("{}{unit}", prefixed(n)),
        None if dim.to_string().contains(' ') => format!("({dim}) {unit}"),
        None => format!("{dim} {unit}"),
    }
}

/// A number of bytes, with prefixes of powers of two.
pub fn bytes(count: f64) -> String {
    let (mut scaled, mut prefix) = (count, "");
    for next in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"] {
        if scaled < 1024.0 {
            break;
        }
        (scaled, prefix) = (scaled / 1024.0, next);
    }
    let digits = usize::from(scaled.fract() != 0.0 && scaled < 100.0);
    format!("{scaled:.digits$} {prefix}B")
}

/// A rate or a time with three digits and a unit's prefix, such as `38.2 GB/s` or `410 ns`.
pub fn measured(value: f64, unit: &str) -> String {
    let large = ["", "k", "M", "G", "T", "P"];
    let small = ["", "m", "µ", "n", "p"];
    let (mut scaled, mut at) = (value, 0usize);
    if !value.is_finite() || value == 0.0 {
        return format!("{value} {unit}");
    }
    let prefix = if value.abs() >= 1.0 {
        while scaled.abs() >= 999.5 && at + 1 < large.len() {
            (scaled, at) = (scaled / 1000.0, at + 1);
        }
        large[at]
    } else {
        while scaled.abs() < 0.9995 && at + 1 < small.len() {
            (scaled, at) = (scaled * 1000.0, at + 1);
        }
        small[at]
    };
    match scaled.abs() {
        s if s < 9.995 => format!("{scaled:.2} {prefix}{unit}"),
        s if s < 99.95 => format!("{scaled:.1} {prefix}{unit}"),
        _ => format!("{scaled:.0} {prefix}{unit}"),
    }
}

fn prefixed(n: i64) -> String {
    let (mut scaled, mut prefix) = (n as f64, "");
    for next in ["k", "M", "G", "T", "P", "E"] {
        if scaled.abs() < 999.5 {
            break;
        }
        (scaled, prefix) = (scaled / 1000.0, next);
    }
    match scaled.abs() {
        _ if prefix.is_empty() => format!("{n} "),
        s if s < 9.995 => format!("{scaled:.2} {prefix}"),
        s if s < 99.95 => format!("{scaled:.1} {prefix}"),
        _ => format!("{scaled:.0} {prefix}"),
    }
}

/// A count as JSON: a number, or the expression as a string.
pub fn dim_json(dim: &Dim) -> Json {
    match dim.as_const() {
        Some(n) => json!(n),
        None => json!(dim.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_prefix() {
        let shown = |n: i64| quantity(&Dim::from(n), "B");
        assert_eq!(shown(0), "0 B");
        assert_eq!(shown(999), "999 B");
        assert_eq!(shown(1000), "1.00 kB");
        assert_eq!(shown(9_996), "10.0 kB");
        assert_eq!(shown(999_600), "1.00 MB");
        assert_eq!(shown(i64::MAX), "9.22 EB");
    }

    #[test]
    fn rates_and_times_have_three_digits_and_a_prefix() {
        assert_eq!(measured(38.21e9, "B/s"), "38.2 GB/s");
        assert_eq!(measured(4.1e-7, "s"), "410 ns");
        assert_eq!(measured(0.9999, "s"), "1.00 s");
        assert_eq!(measured(0.0, "s"), "0 s");
        assert_eq!(measured(2.5e-13, "s"), "0.25 ps");
    }

    #[test]
    fn expressions_stay_expressions() {
        assert_eq!(quantity(&(Dim::symbol("N") * 3), "B"), "3*N B");
        assert_eq!(quantity(&(Dim::symbol("N") + 3), "B"), "(N + 3) B");
    }
}
