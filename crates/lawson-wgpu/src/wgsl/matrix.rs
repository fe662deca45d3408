//! Floats of 16 bits as they are, and matrices that a subgroup has together.

use super::Dialect;
use crate::opcode::{
    Halves, HalvesId, Listing, MATRIX, MatrixId, MemoryId, OpCode, Order, Residence, Side, Word,
};

/// What a shader with such op codes must ask for before anything else.
pub(super) fn enables(listing: &Listing) -> &'static str {
    let halves = |c: &OpCode| matches!(c, OpCode::Scratch { place: Residence::Halves, .. });
    match listing.codes.iter().any(halves) {
        true => "enable f16;\nenable wgpu_cooperative_matrix;\n",
        false => "",
    }
}

fn matrix_of(element: &str, role: &str) -> String {
    format!("coop_mat{MATRIX}x{MATRIX}<{element}, {role}>")
}

impl Dialect<'_> {
    pub(super) fn set_halves(&mut self, halves: HalvesId, to: &Halves) {
        let to = match to {
            Halves::Zeros => "vec4<f16>()".to_string(),
            Halves::At(memory, at) => self.element(*memory, at),
            Halves::Values([a, b, c, d]) => format!("vec4<f16>(vec4<f32>({a}, {b}, {c}, {d}))"),
        };
        self.line(&format!("{halves} = {to};"));
    }

    pub(super) fn declare_sums(&mut self, sums: MatrixId) {
        let ty = matrix_of("f32", "C");
        self.line(&format!("var {sums}: {ty} = {ty}();"));
    }

    pub(super) fn load_matrix(
        &mut self,
        matrix: MatrixId,
        side: Side,
        (memory, at): (MemoryId, &Word),
        line: u32,
        order: Order,
    ) {
        let ty = matrix_of("f16", if side == Side::Left { "A" } else { "B" });
        let load = if order == Order::Rows { "coopLoadT" } else { "coopLoad" };
        let place = self.element(memory, at);
        self.line(&format!("let {matrix} = {load}<{ty}>(&{place}, {line}u);"));
    }

    pub(super) fn store_matrix(&mut self, memory: MemoryId, at: &Word, sums: MatrixId) {
        let place = self.element(memory, at);
        self.line(&format!("coopStoreT({sums}, &{place}, {}u);", MATRIX / 4));
    }
}
