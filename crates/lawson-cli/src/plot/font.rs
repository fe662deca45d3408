//! Letters as strokes, for pictures made where there are no fonts.
//!
//! A glyph stands on a grid: capitals reach from 0 down to the baseline at 6, small letters begin at 2, tails end at 8. It is written as strokes, a
//! stroke as points, a point as two digits: `"0026"` goes from (0, 0) to (2, 6).

/// A unit of the grid, relative to the height of a text.
const UNIT: f64 = 0.118;
const BASELINE: f64 = 6.0;
/// Units between glyphs, and those of a space.
const BETWEEN: f64 = 1.7;
const SPACE: f64 = 2.4;

/// How wide a text of this height is.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let units: f64 = text.chars().map(advance).sum();
    (units - BETWEEN).max(0.0) * UNIT * size
}

/// The strokes of a text whose baseline begins at (0, 0).
pub(super) fn strokes(text: &str, size: f64) -> Vec<Vec<(f64, f64)>> {
    let mut all = Vec::new();
    let mut left = 0.0;
    for c in text.chars() {
        for stroke in glyph(c).split(' ').filter(|s| !s.is_empty()) {
            let scaled = |(x, y): (f64, f64)| ((left + x) * UNIT * size, (y - BASELINE) * UNIT * size);
            all.push(points(stroke).map(scaled).collect());
        }
        left += advance(c);
    }
    all
}

fn points(stroke: &str) -> impl Iterator<Item = (f64, f64)> {
    let digit = |b: u8| f64::from(b.saturating_sub(b'0'));
    stroke.as_bytes().chunks_exact(2).map(move |p| (digit(p[0]), digit(p[1])))
}

fn advance(c: char) -> f64 {
    let widest = glyph(c).split(' ').flat_map(points).map(|(x, _)| x).fold(0.0, f64::max);
    BETWEEN + if c == ' ' { SPACE } else { widest }
}

/// The strokes of a character; a box where there are none.
fn glyph(c: char) -> &'static str {
    match c {
        'A' => "062046 1434",
        'B' => "0006 003041423303 3344453606",
        'C' => "4130100105163645",
        'D' => "0006 003041453606",
        'E' => "40000646 0333",
        'F' => "400006 0333",
        'G' => "41301001051636454323",
        'H' => "0006 4046 0343",
        'I' => "0020 1016 0626",
        'J' => "3035261605",
        'K' => "0006 4004 1346",
        'L' => "000646",
        'M' => "0600234046",
        'N' => "06004640",
        'O' => "103041453616050110",
        'P' => "06003041423303",
        'Q' => "103041453616050110 2446",
        'R' => "06003041423303 2346",
        'S' => "413010010213334445361605",
        'T' => "0040 2026",
        'U' => "000516364540",
        'V' => "002640",
        'W' => "0016335660",
        'X' => "0046 4006",
        'Y' => "002340 2326",
        'Z' => "00400646",
        'a' => "12324346 441405163645",
        'b' => "0006 0312324345361605",
        'c' => "4332120305163645",
        'd' => "4046 4332120305163645",
        'e' => "04444332120305163645",
        'f' => "30201116 0232",
        'g' => "4332120305163645 4247381807",
        'h' => "0006 0312324346",
        'i' => "0206 0000",
        'j' => "22271808 2020",
        'k' => "0006 3205 1436",
        'l' => "000516",
        'm' => "0206 0312223336 3342526366",
        'n' => "0206 0312324346",
        'o' => "123243453616050312",
        'p' => "0208 0312324345361605",
        'q' => "4248 4332120305163645",
        'r' => "0206 031232",
        's' => "43321203143445361605",
        't' => "10152636 0232",
        'u' => "0205163645 4246",
        'v' => "022642",
        'w' => "0216335662",
        'x' => "0246 4206",
        'y' => "0226 4218",
        'z' => "02420646",
        '0' => "103041453616050110",
        '1' => "011016 0626",
        '2' => "01103041420646",
        '3' => "0110304142334445361605 1333",
        '4' => "36300444",
        '5' => "400002324345361605",
        '6' => "4130100105163645443303",
        '7' => "004016",
        '8' => "13020110304142331304051636454433",
        '9' => "0516364541301001021343",
        ' ' => "",
        '_' => "0747",
        '-' | '–' => "0434",
        '+' => "2226 0444",
        '=' => "0343 0545",
        '.' => "0606",
        ',' => "1607",
        ':' => "0303 0606",
        ';' => "1313 1607",
        '!' => "0004 0606",
        '?' => "01103041422324 2626",
        '(' => "10010516",
        ')' => "00111506",
        '[' => "10000616",
        ']' => "00101606",
        '/' => "0630",
        '\\' => "0036",
        '|' => "0007",
        '<' => "320436",
        '>' => "023406",
        '%' => "0640 0000 4646",
        '#' => "1016 3036 0242 0444",
        '*' => "2125 0244 0442",
        '~' => "04133544",
        '\'' => "0001",
        '"' => "0001 2021",
        '@' => "343223344443301001051636",
        '&' => "4611102102 0116 05164344",
        '×' => "0336 3306",
        'µ' | 'μ' => "0208 05163645 4246",
        '·' => "0404",
        _ => "0030360600",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stroke_is_made_of_whole_points_on_the_grid() {
        for c in (' '..='~').chain("×µ·☃".chars()) {
            for stroke in glyph(c).split(' ') {
                assert!(stroke.len() % 2 == 0 && stroke.len() != 2, "{c}: {stroke}");
                assert!(points(stroke).all(|(x, y)| x <= 6.0 && y <= 8.0), "{c}: {stroke}");
            }
        }
    }

    #[test]
    fn letters_that_look_alike_in_other_fonts_differ_here() {
        for (a, b) in [('I', 'l'), ('l', '1'), ('I', '1'), ('u', 'µ'), ('.', ','), ('5', 'S')] {
            assert_ne!(glyph(a), glyph(b));
        }
    }

    #[test]
    fn a_text_is_as_wide_as_its_strokes() {
        let widest = |text: &str| strokes(text, 10.0).into_iter().flatten().map(|p| p.0).fold(0.0, f64::max);
        for text in ["graph_loop", "W", "size 256"] {
            assert!((widest(text) - width(text, 10.0)).abs() < 1e-9, "{text}");
        }
    }
}
