//! From planes of samples to pixels: planes of a lower resolution are interpolated, and colours turned to red, green and blue.

/// Samples in rows.
pub(super) struct Plane {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The rows, each of which may be longer than `width`.
    pub(super) samples: Vec<u8>,
    pub(super) stride: usize,
}

impl Plane {
    fn row(&self, y: usize) -> &[u8] {
        &self.samples[y * self.stride..][..self.width]
    }

    /// Row `y` of the plane that has `down` times as many rows, before interpolation along rows: each value is weighed
    /// by the factor that comes with them.
    fn between(&self, y: usize, down: usize) -> (Vec<i32>, i32) {
        let near = self.row((y / down).min(self.height - 1));
        if down != 2 {
            return (near.iter().map(|v| i32::from(*v)).collect(), 1);
        }
        let own = (y / 2).min(self.height - 1);
        let other = if y.is_multiple_of(2) { own.saturating_sub(1) } else { (own + 1).min(self.height - 1) };
        let mixed = near.iter().zip(self.row(other)).map(|(n, f)| 3 * i32::from(*n) + i32::from(*f));
        (mixed.collect(), 4)
    }

    /// Row `y` at `across` times the width and `down` times the height. Factors of two interpolate: pixels lie at 1/4 and 3/4 of the
    /// way between samples, and halves are rounded down and up by turns. Other factors repeat, and so do rows too short to interpolate.
    pub(super) fn enlarged(&self, y: usize, across: usize, down: usize) -> Vec<u8> {
        let narrow = across == 2 && self.width <= 2;
        if narrow || across > 2 || down > 2 {
            let row = self.row((y / down).min(self.height - 1));
            return row.iter().flat_map(|v| std::iter::repeat_n(*v, across)).collect();
        }
        let (row, weight) = self.between(y, down);
        if across == 1 {
            let bias = if y.is_multiple_of(2) { 1 } else { 2 };
            let whole = |v: &i32| if weight == 4 { (v + bias) >> 2 } else { *v };
            return row.iter().map(|v| whole(v) as u8).collect();
        }
        let last = row.len() - 1;
        // With both directions 16 parts, halves are 8 of them; along rows only 4 parts, halves 2.
        let (shift, left, right) = if weight == 4 { (4, 8, 7) } else { (2, 1, 2) };
        let pair = |(i, v): (usize, &i32)| {
            let (before, after) = (row[i.saturating_sub(1)], row[(i + 1).min(last)]);
            [((3 * v + before + left) >> shift) as u8, ((3 * v + after + right) >> shift) as u8]
        };
        row.iter().enumerate().flat_map(pair).collect()
    }
}

/// What the components of a picture are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Colours {
    Grey,
    Rgb,
    /// Brightness and two differences.
    Ycc,
    /// Inks; Adobe writes how much there is not of each.
    Cmyk {
        inverted: bool,
    },
    /// Inks, of which three are given as brightness and differences.
    Ycck {
        inverted: bool,
    },
}

fn clamped(v: i32) -> u8 {
    v.clamp(0, 255) as u8
}

/// Red, green and blue of a brightness and two differences, by factors with 16 bits after the point.
fn from_ycc(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    let half = 1 << 15;
    [
        clamped(y + ((91881 * cr + half) >> 16)),
        clamped(y + ((half - 22554 * cb - 46802 * cr) >> 16)),
        clamped(y + ((116130 * cb + half) >> 16)),
    ]
}

/// The colour that inks leave of white.
fn from_inks(ink: [u8; 4], inverted: bool) -> [u8; 3] {
    let left = |v: u8| u32::from(if inverted { v } else { 255 - v });
    std::array::from_fn(|i| ((left(ink[i]) * left(ink[3]) + 127) / 255) as u8)
}

/// A row of pixels from the same row of every component.
pub(super) fn pixels(colours: Colours, rows: &[Vec<u8>], out: &mut [u8]) -> Option<()> {
    let inverse = |rgb: [u8; 3]| rgb.map(|v| 255 - v);
    for (x, pixel) in out.chunks_exact_mut(3).enumerate() {
        let at = |c: usize| rows[c].get(x).copied();
        let rgb = match colours {
            Colours::Grey => [at(0)?; 3],
            Colours::Rgb => [at(0)?, at(1)?, at(2)?],
            Colours::Ycc => from_ycc(at(0)?, at(1)?, at(2)?),
            Colours::Cmyk { inverted } => from_inks([at(0)?, at(1)?, at(2)?, at(3)?], inverted),
            Colours::Ycck { inverted } => {
                let [c, m, y] = inverse(from_ycc(at(0)?, at(1)?, at(2)?));
                from_inks([c, m, y, at(3)?], inverted)
            }
        };
        pixel.copy_from_slice(&rgb);
    }
    Some(())
}
