//! Buffers larger than a shader may see at once: several bindings of one buffer, its *windows*, of which the index chooses one.
//!
//! A window has as many bytes as [`Capabilities::window`](crate::Capabilities::window) says, so that no element lies in two. Each buffer that has several gets a function that reads a cell (a
//! word, a number of 64 bits, four numbers) and, where it is written, one that writes it.

use super::Dialect;
use crate::opcode::{Access, Element};

impl Element {
    /// How many bytes one entry of the array has that a buffer is declared as.
    fn cell_bytes(self) -> u64 {
        match self {
            Element::Word(_) | Element::Byte | Element::Narrow(_) | Element::ByteQuad => 4,
            Element::NarrowQuad(narrow) => u64::from(narrow.bits()) / 2,
            Element::Wide(_) | Element::Halves => 8,
            Element::Quad(_) => 16,
        }
    }
}

/// The name of one window of a buffer.
pub(super) fn window(name: &str, number: u32) -> String {
    format!("{name}_{number}")
}

impl Dialect<'_> {
    /// Functions that find the cell of an index in the windows of a buffer.
    pub(super) fn window_functions(&mut self, name: &str, windows: u32, element: Element, access: Access) {
        let shared = element.bits().is_some();
        let cell = element.cell();
        let read = |place: String| match (shared, access) {
            (true, Access::Write) => format!("return atomicLoad(&{place});"),
            _ => format!("return {place};"),
        };
        self.line(&format!("fn get_{name}(at: i32) -> {cell} {{"));
        self.each_window(name, windows, element, &read);
        self.line("}");
        match (access, shared) {
            (Access::Read, _) => {}
            (Access::Write, false) => {
                self.line(&format!("fn put_{name}(at: i32, value: {cell}) {{"));
                self.each_window(name, windows, element, &|place| format!("{place} = value; return;"));
                self.line("}");
            }
            // Two atomic operations change one part of a word and no neighbour.
            (Access::Write, true) => {
                self.line(&format!("fn change_{name}(at: i32, keep: u32, bits: u32) {{"));
                let change =
                    |place: String| format!("atomicAnd(&{place}, keep); atomicOr(&{place}, bits); return;");
                self.each_window(name, windows, element, &change);
                self.line("}");
            }
        }
    }

    /// What is done with the cell `at`, for each window that it may lie in.
    fn each_window(&mut self, name: &str, windows: u32, element: Element, act: &dyn Fn(String) -> String) {
        let cells = self.listing.capabilities.window() / element.cell_bytes();
        for n in 0..windows {
            let (window, begin) = (window(name, n), u64::from(n) * cells);
            let at = if n == 0 { "at".to_string() } else { format!("at - {begin}") };
            let act = act(format!("{window}[{at}]"));
            match n + 1 == windows {
                true => self.line(&format!("  {act}")),
                false => self.line(&format!("  if (at < {}) {{ {act} }}", begin + cells)),
            }
        }
    }
}
