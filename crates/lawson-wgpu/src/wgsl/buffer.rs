//! Buffers: how they are declared, and the functions that load and store what shares words with others.

use super::window::window;
use super::{Dialect, Lies, Memory, identifier, spelled};
use crate::opcode::{Access, Element, MemoryId, Narrow, Ty};

impl Element {
    /// The type of an element.
    pub(super) fn ty(self) -> Ty {
        match self {
            Element::Word(ty) | Element::Quad(ty) | Element::Wide(ty) => ty,
            Element::Byte | Element::ByteQuad => Ty::Bool,
            Element::Halves => Ty::F32,
            Element::Narrow(narrow) | Element::NarrowQuad(narrow) => narrow.ty(),
        }
    }

    /// How many bits an element has, if several share a word and each is stored by itself.
    pub(super) fn bits(self) -> Option<u32> {
        match self {
            Element::Byte => Some(8),
            Element::Narrow(narrow) => Some(narrow.bits()),
            _ => None,
        }
    }

    /// Whether four elements that are read or written together share words.
    pub(super) fn packs_fours(self) -> bool {
        matches!(self, Element::ByteQuad | Element::NarrowQuad(_))
    }

    /// An entry of the array that a buffer is declared as, as it is read.
    pub(super) fn cell(self) -> String {
        match self {
            Element::Word(ty) | Element::Wide(ty) => spelled(ty).to_string(),
            Element::Quad(ty) => format!("vec4<{}>", spelled(ty)),
            Element::Halves => "vec4<f16>".to_string(),
            Element::NarrowQuad(narrow) if narrow.bits() == 16 => "vec2<u32>".to_string(),
            Element::Byte | Element::Narrow(_) | Element::ByteQuad | Element::NarrowQuad(_) => {
                "u32".to_string()
            }
        }
    }
}

impl Dialect<'_> {
    pub(super) fn buffer(
        &mut self,
        memory: MemoryId,
        name: &str,
        binding: u32,
        element: Element,
        access: Access,
        windows: u32,
    ) {
        let name = identifier('b', memory.0, name);
        let mode = match access {
            Access::Read => "read",
            Access::Write => "read_write",
        };
        let array = match (element.bits(), access) {
            (Some(_), Access::Write) => "atomic<u32>".to_string(),
            _ => element.cell(),
        };
        for n in 0..windows {
            let (binding, name) = (binding + n, if windows > 1 { window(&name, n) } else { name.clone() });
            self.line(&format!("@group(0) @binding({binding}) var<storage, {mode}> {name}: array<{array}>;"));
        }
        if windows > 1 {
            self.window_functions(&name, windows, element, access);
        }
        if let Some(bits) = element.bits() {
            self.parts(&name, element, bits, access, windows > 1);
        }
        if element.packs_fours() {
            self.packed_fours(&name, element, access, windows > 1);
        }
        let lies = if windows > 1 { Lies::Windows(element) } else { Lies::Buffer(element) };
        self.memory.insert(memory.0, Memory { name, ty: element.ty(), lies });
    }

    /// A number of an element that is made of the bits that `bits` gives, and the bits of the one that `value` gives.
    fn converted(&mut self, element: Element, bits: &str, value: &str) -> (String, String) {
        match element {
            Element::Narrow(narrow) | Element::NarrowQuad(narrow) => {
                let width = narrow.bits();
                match narrow {
                    Narrow::I8 | Narrow::I16 => (
                        format!("extractBits(bitcast<i32>({bits}), 0u, {width}u)"),
                        format!("extractBits(bitcast<u32>({value}), 0u, {width}u)"),
                    ),
                    Narrow::U8 | Narrow::U16 => {
                        (bits.to_string(), format!("extractBits({value}, 0u, {width}u)"))
                    }
                    Narrow::F16 => {
                        let (up, down) = (self.call("f16_to_f32"), self.call("f32_to_f16"));
                        (format!("{up}({bits})"), format!("{down}({value})"))
                    }
                    Narrow::BF16 => {
                        let down = self.call("f32_to_bf16");
                        (format!("bitcast<f32>({bits} << 16u)"), format!("{down}({value})"))
                    }
                }
            }
            _ => (format!("{bits} != 0u"), format!("u32({value})")),
        }
    }

    /// Functions that load and store elements which share words.
    fn parts(&mut self, name: &str, element: Element, bits: u32, access: Access, in_windows: bool) {
        // Elements of a word, as a power of two and a mask.
        let (power, mask) = if bits == 8 { (2, 3) } else { (1, 1) };
        let ty = spelled(element.ty());
        let word = match access {
            _ if in_windows => format!("get_{name}(at >> {power}u)"),
            Access::Read => format!("{name}[at >> {power}u]"),
            Access::Write => format!("atomicLoad(&{name}[at >> {power}u])"),
        };
        let (load, store) = self.converted(element, &format!("extractBits({word}, shift, {bits}u)"), "value");
        let shift = format!("  let shift = (bitcast<u32>(at) & {mask}u) * {bits}u;");
        self.line(&format!("fn load_{name}(at: i32) -> {ty} {{"));
        self.line(&shift);
        self.line(&format!("  return {load};"));
        self.line("}");
        if access == Access::Write {
            let all = if bits == 8 { "0xffu" } else { "0xffffu" };
            self.line(&format!("fn store_{name}(at: i32, value: {ty}) {{"));
            self.line(&shift);
            if in_windows {
                let (keep, bits) = (format!("~({all} << shift)"), format!("({store}) << shift"));
                self.line(&format!("  change_{name}(at >> {power}u, {keep}, {bits});"));
            } else {
                self.line(&format!("  atomicAnd(&{name}[at >> {power}u], ~({all} << shift));"));
                self.line(&format!("  atomicOr(&{name}[at >> {power}u], ({store}) << shift);"));
            }
            self.line("}");
        }
    }

    /// Functions that load and store four elements which fill one word or two: no neighbour is in them, and so nothing is atomic.
    fn packed_fours(&mut self, name: &str, element: Element, access: Access, in_windows: bool) {
        let ty = spelled(element.ty());
        // Where each of the four lies: its word and its first bit.
        let (width, places) = match element.cell().as_str() {
            "u32" => (8, [("cell", 0), ("cell", 8), ("cell", 16), ("cell", 24)]),
            _ => (16, [("cell.x", 0), ("cell.x", 16), ("cell.y", 0), ("cell.y", 16)]),
        };
        let (mut loads, mut stores) = (Vec::new(), Vec::new());
        for ((word, from), part) in places.into_iter().zip(super::PARTS) {
            let bits = format!("extractBits({word}, {from}u, {width}u)");
            let (load, store) = self.converted(element, &bits, &format!("value.{part}"));
            loads.push(load);
            stores.push(if from == 0 { store } else { format!("(({store}) << {from}u)") });
        }
        let cell = if in_windows { format!("get_{name}(at)") } else { format!("{name}[at]") };
        self.line(&format!("fn load_{name}(at: i32) -> vec4<{ty}> {{"));
        self.line(&format!("  let cell = {cell};"));
        self.line(&format!("  return vec4<{ty}>({});", loads.join(", ")));
        self.line("}");
        if access == Access::Write {
            let packed = match width {
                8 => stores.join(" | "),
                _ => format!("vec2<u32>({}, {})", stores[..2].join(" | "), stores[2..].join(" | ")),
            };
            self.line(&format!("fn store_{name}(at: i32, value: vec4<{ty}>) {{"));
            match in_windows {
                true => self.line(&format!("  put_{name}(at, {packed});")),
                false => self.line(&format!("  {name}[at] = {packed};")),
            }
            self.line("}");
        }
    }
}
