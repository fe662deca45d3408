//! [`Count`]: builds the expression of an expansion and counts its operations.

use lawson_kernel::math::{Arithmetic, Lanes, TABLE};
use std::collections::HashMap;

/// Which form of the hooks is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hooks {
    /// The expansions that every target has.
    Portable,
    /// One to four instructions of AVX-512.
    Avx512,
}

/// An expression with common subexpressions shared. Constants and changes of type cost nothing.
#[derive(Debug)]
pub struct Count {
    hooks: Hooks,
    nodes: Vec<Node>,
    known: HashMap<Node, usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Node {
    name: &'static str,
    immediate: u32,
    arguments: Vec<usize>,
}

/// The operations of an expansion: those always computed, and those left to `if_any`.
#[derive(Clone, Copy, Debug)]
pub struct Operations {
    pub common: usize,
    pub rare: usize,
}

/// Counts what the result of `expand` needs.
pub fn count(
    hooks: Hooks,
    arguments: usize,
    expand: impl FnOnce(&mut Count, &[usize]) -> usize,
) -> Operations {
    let mut k = Count { hooks, nodes: Vec::new(), known: HashMap::new() };
    let inputs: Vec<usize> = (0..arguments).map(|n| k.node("input", n as u32, &[])).collect();
    let root = expand(&mut k, &inputs);
    let common = k.reach(root, false);
    Operations { common, rare: k.reach(root, true) - common }
}

impl Count {
    fn node(&mut self, name: &'static str, immediate: u32, arguments: &[usize]) -> usize {
        let node = Node { name, immediate, arguments: arguments.to_vec() };
        if let Some(&known) = self.known.get(&node) {
            return known;
        }
        self.known.insert(node.clone(), self.nodes.len());
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The operations below `root`, with or without the rare sides.
    fn reach(&self, root: usize, with_rare: bool) -> usize {
        let mut seen = vec![false; self.nodes.len()];
        let mut open = vec![root];
        let mut total = 0;
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id], true) {
                continue;
            }
            let node = &self.nodes[id];
            total += usize::from(!matches!(node.name, "input" | "constant"));
            match node.name {
                "if_any" if !with_rare => open.extend(&node.arguments[..2]),
                _ => open.extend(&node.arguments),
            }
        }
        total
    }
}

macro_rules! counted {
    ($(fn $name:ident($($arg:ident: $t:ty),*) -> $r:ty;)*) => {
        $(fn $name(&mut self, $($arg: $t),*) -> $r {
            self.node(stringify!($name), 0, &[$($arg),*])
        })*
    };
}

impl Lanes for Count {
    type C = f32;
    type F = usize;
    type I = usize;
    type B = usize;

    operations!(counted);
    fn f(&mut self, c: f32) -> usize {
        self.node("constant", c.to_bits(), &[])
    }
    fn i(&mut self, c: i32) -> usize {
        self.node("constant", c as u32, &[])
    }
    fn i_shl(&mut self, a: usize, by: u32) -> usize {
        self.node("i_shl", by, &[a])
    }
    fn i_shr(&mut self, a: usize, by: u32) -> usize {
        self.node("i_shr", by, &[a])
    }
    fn lookup(&mut self, index: usize, table: &[f32; TABLE]) -> usize {
        let table: Vec<usize> = table.iter().map(|&c| self.f(c)).collect();
        self.node("lookup", 0, &[&[index], &table[..]].concat())
    }
    fn bits(&mut self, a: usize) -> usize {
        a
    }
    fn of_bits(&mut self, a: usize) -> usize {
        a
    }

    fn or_sign(&mut self, magnitude: usize, sign: usize) -> usize {
        let mask = self.i(i32::MIN);
        match self.hooks {
            Hooks::Portable => {
                let sign = self.i_and(sign, mask);
                self.i_or(magnitude, sign)
            }
            Hooks::Avx512 => self.node("vpternlogd", 0, &[magnitude, sign, mask]),
        }
    }

    fn copy_sign(&mut self, magnitude: usize, sign: usize) -> usize {
        let magnitude = match self.hooks {
            Hooks::Portable => self.abs(magnitude),
            Hooks::Avx512 => magnitude,
        };
        self.or_sign(magnitude, sign)
    }

    fn flip_sign(&mut self, x: usize, sign: usize) -> usize {
        let mask = self.i(i32::MIN);
        match self.hooks {
            Hooks::Portable => {
                let sign = self.i_and(sign, mask);
                self.i_xor(x, sign)
            }
            Hooks::Avx512 => self.node("vpternlogd", 1, &[x, sign, mask]),
        }
    }

    fn nearest(&mut self, a: usize, b: usize) -> (usize, usize) {
        match self.hooks {
            Hooks::Portable => {
                let product = self.mul(a, b);
                let whole = self.round_even(product);
                (whole, self.to_int(whole))
            }
            Hooks::Avx512 => {
                let magic = self.f(12_582_912.0);
                let shifted = self.fma(a, b, magic);
                (self.sub(shifted, magic), shifted)
            }
        }
    }

    fn quotient(&mut self, a: usize, b: usize) -> usize {
        match self.hooks {
            Hooks::Portable => self.div(a, b),
            Hooks::Avx512 => {
                let y = self.reciprocal_estimate(b);
                let q = self.mul(a, y);
                let rest = self.fnma(b, q, a);
                self.fma(rest, y, q)
            }
        }
    }

    fn if_any<const N: usize>(
        &mut self,
        condition: usize,
        common: [usize; N],
        rare: impl FnOnce(&mut Self) -> [usize; N],
    ) -> [usize; N] {
        let rare = rare(self);
        std::array::from_fn(|n| self.node("if_any", n as u32, &[condition, common[n], rare[n]]))
    }

    fn swap_where_odd(&mut self, n: usize, [a, b]: [usize; 2]) -> [usize; 2] {
        match self.hooks {
            Hooks::Portable => Portable(self).swap_where_odd(n, [a, b]),
            Hooks::Avx512 => {
                let (lowest, none) = (self.i(1), self.i(0));
                let parity = self.i_and(n, lowest);
                let odd = self.i_sub(none, parity);
                [self.node("vpternlogd", 2, &[a, b, odd]), self.node("vpternlogd", 2, &[b, a, odd])]
            }
        }
    }
}

impl Arithmetic for Count {
    operations_of_single!(counted);
    counted! {
        fn to_int(a: Self::F) -> Self::I;
    }

    fn i_sar(&mut self, a: usize, by: u32) -> usize {
        self.node("i_sar", by, &[a])
    }

    fn nearest_sixteenth(&mut self, a: usize, b: usize) -> (usize, usize) {
        match self.hooks {
            Hooks::Portable => Portable(self).nearest_sixteenth(a, b),
            Hooks::Avx512 => {
                let magic = self.f(786_432.0);
                let shifted = self.fma(a, b, magic);
                (self.sub(shifted, magic), shifted)
            }
        }
    }

    fn scale_down(&mut self, x: usize, n: (usize, usize)) -> usize {
        match self.hooks {
            Hooks::Portable => Portable(self).scale_down(x, n),
            Hooks::Avx512 => self.scale(x, n),
        }
    }

    fn power_of_two(&mut self, n: (usize, usize)) -> usize {
        match self.hooks {
            Hooks::Portable => Portable(self).power_of_two(n),
            Hooks::Avx512 => {
                let one = self.f(1.0);
                self.scale(one, n)
            }
        }
    }

    fn scale(&mut self, x: usize, n: (usize, usize)) -> usize {
        match self.hooks {
            Hooks::Portable => Portable(self).scale(x, n),
            Hooks::Avx512 => self.node("vscalefps", 0, &[x, n.0]),
        }
    }

    fn split(&mut self, x: usize) -> (usize, usize) {
        match self.hooks {
            Hooks::Portable => Portable(self).split(x),
            Hooks::Avx512 => {
                let m = self.node("vgetmantps", 0, &[x]);
                let e = self.node("vgetexpps", 0, &[x]);
                let above = self.node("vgetexpps", 0, &[m]);
                (m, self.sub(e, above))
            }
        }
    }

    fn reciprocal_estimate(&mut self, b: usize) -> usize {
        match self.hooks {
            Hooks::Portable => Portable(self).reciprocal_estimate(b),
            Hooks::Avx512 => self.node("vrcp14ps", 0, &[b]),
        }
    }
}

/// A [`Count`] whose hooks are those that the trait brings.
struct Portable<'a>(&'a mut Count);

macro_rules! passed_on {
    ($(fn $name:ident($($arg:ident: $t:ty),*) -> $r:ty;)*) => {
        $(fn $name(&mut self, $($arg: $t),*) -> $r {
            self.0.$name($($arg),*)
        })*
    };
}

impl Lanes for Portable<'_> {
    type C = f32;
    type F = usize;
    type I = usize;
    type B = usize;

    operations!(passed_on);
    operations_with_constants!(passed_on);
}

impl Arithmetic for Portable<'_> {
    operations_of_single!(passed_on);
    passed_on! {
        fn i_sar(a: Self::I, by: u32) -> Self::I;
        fn to_int(a: Self::F) -> Self::I;
    }
}
