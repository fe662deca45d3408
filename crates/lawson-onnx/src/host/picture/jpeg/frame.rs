//! A picture's size and components, and what becomes of its coefficients.

use super::colour::{Colours, Plane, pixels};
use super::scan::ZIGZAG;
use super::transform;

/// A component: its blocks of 8 by 8 coefficients, in whole units of the picture.
pub(super) struct Component {
    pub(super) id: u8,
    /// How many blocks of it there are in a unit, across and down.
    pub(super) factors: (usize, usize),
    /// Which table has the steps of its coefficients.
    pub(super) steps: usize,
    pub(super) blocks_across: usize,
    pub(super) coefficients: Vec<[i16; 64]>,
    /// How many samples there really are.
    width: usize,
    height: usize,
}

impl Component {
    /// How many blocks there are in a scan that has this component alone.
    pub(super) fn own_blocks(&self) -> (usize, usize) {
        (self.width.div_ceil(8), self.height.div_ceil(8))
    }

    /// The samples that the coefficients, which come in the order of a block's rows, are transforms of.
    fn plane(&self, steps: &[u16; 64]) -> Plane {
        let stride = 8 * self.blocks_across;
        let mut samples = vec![0; 64 * self.coefficients.len()];
        for (i, block) in self.coefficients.iter().enumerate() {
            let corner = i / self.blocks_across * 8 * stride + i % self.blocks_across * 8;
            let scaled = std::array::from_fn(|k| i32::from(block[k]).wrapping_mul(i32::from(steps[k])));
            let block = transform::samples(&scaled);
            for (row, part) in block.chunks_exact(8).enumerate() {
                samples[corner + row * stride..][..8].copy_from_slice(part);
            }
        }
        Plane { width: self.width, height: self.height, samples, stride }
    }
}

/// What a frame header says, and the coefficients.
pub(super) struct Frame {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) progressive: bool,
    pub(super) components: Vec<Component>,
    /// How many units there are across and down.
    pub(super) units: (usize, usize),
}

/// Why there is no frame.
pub(super) enum NoFrame {
    Undecodable,
    TooLarge,
}

impl Frame {
    /// From the bytes of a frame header, in a file of so many bytes. Allocates the coefficients, at most `limit` of them.
    pub(super) fn new(header: &[u8], progressive: bool, file: usize, limit: usize) -> Result<Frame, NoFrame> {
        let [8, h1, h0, w1, w0, count, rest @ ..] = header else { return Err(NoFrame::Undecodable) };
        let side = |high: u8, low: u8| usize::from(u16::from_be_bytes([high, low]));
        let (height, width) = (side(*h1, *h0), side(*w1, *w0));
        let parts: Vec<(u8, usize, usize, usize)> = rest
            .chunks_exact(3)
            .map(|c| (c[0], usize::from(c[1] >> 4), usize::from(c[1] & 15), usize::from(c[2])))
            .collect();
        let fits =
            |p: &(u8, usize, usize, usize)| (1..=4).contains(&p.1) && (1..=4).contains(&p.2) && p.3 < 4;
        let known = matches!(count, 1 | 3 | 4) && parts.len() == usize::from(*count);
        if width == 0 || height == 0 || !known || !parts.iter().all(fits) {
            return Err(NoFrame::Undecodable);
        }
        // A picture of one component has units of one block, whatever its factors.
        let alone = parts.len() == 1;
        let parts: Vec<_> = parts.into_iter().map(|p| if alone { (p.0, 1, 1, p.3) } else { p }).collect();
        let most = |of: fn(&(u8, usize, usize, usize)) -> usize| parts.iter().map(of).max().unwrap_or(1);
        let (across, down) = (most(|p| p.1), most(|p| p.2));
        if parts.iter().any(|p| across % p.1 != 0 || down % p.2 != 0) {
            return Err(NoFrame::Undecodable);
        }
        let units = (width.div_ceil(8 * across), height.div_ceil(8 * down));
        let blocks: usize = parts.iter().map(|p| units.0 * p.1 * units.1 * p.2).sum();
        if blocks.saturating_mul(64) > limit {
            return Err(NoFrame::TooLarge);
        }
        // Every block takes a bit at least.
        if blocks > file.saturating_mul(8) {
            return Err(NoFrame::Undecodable);
        }
        let component = |(id, h, v, steps): (u8, usize, usize, usize)| Component {
            id,
            factors: (h, v),
            steps,
            blocks_across: units.0 * h,
            coefficients: vec![[0; 64]; units.0 * h * units.1 * v],
            width: (width * h).div_ceil(across),
            height: (height * v).div_ceil(down),
        };
        let components = parts.into_iter().map(component).collect();
        Ok(Frame { width, height, progressive, components, units })
    }

    /// The picture as red, green and blue. Coefficients are given back as they are used up.
    pub(super) fn into_rgb(mut self, steps: &[Option<[u16; 64]>; 4], colours: Colours) -> Option<Vec<u8>> {
        let most = |of: fn(&Component) -> usize| self.components.iter().map(of).max().unwrap_or(1);
        let (across, down) = (most(|c| c.factors.0), most(|c| c.factors.1));
        let mut planes = Vec::new();
        for c in &mut self.components {
            let mut in_rows = [0; 64];
            for (at, step) in ZIGZAG.iter().zip(steps[c.steps].as_ref()?) {
                in_rows[*at] = *step;
            }
            planes.push((c.plane(&in_rows), across / c.factors.0, down / c.factors.1));
            c.coefficients = Vec::new();
        }
        let mut out = vec![0; 3 * self.width * self.height];
        for (y, row) in out.chunks_exact_mut(3 * self.width).enumerate() {
            let rows: Vec<Vec<u8>> = planes.iter().map(|(p, h, v)| p.enlarged(y, *h, *v)).collect();
            pixels(colours, &rows, row)?;
        }
        Some(out)
    }
}
