//! Rules: rewrites of one node that are legal everywhere.
//!
//! A rule carries its identity, the function that applies it, and a generator of instances on which it must apply.
//! Being in the table of a pass, it is tested on random instances through the oracle (`tests/rules.rs`): a rule
//! without an instance generator does not compile, a rule that does not apply to its own instances fails, and so does
//! one that changes a result. `docs/add-a-rule.md` shows how to write one.

use crate::rewrite::Rewriter;
use lawson_graph::op::Family;
use lawson_graph::random::{Elements, Rng, random_tensor};
use lawson_graph::{Builder, DType, Dim, Graph, HostTensor, Node, Result, Shape, Type, ValueId};

/// A rewrite of one node.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name.
    pub name: &'static str,
    /// The identity, as one would write it on paper.
    pub identity: &'static str,
    /// Whether results keep their bits.
    pub exact: Exact,
    /// The operators at whose nodes it is tried.
    pub roots: &'static [Family],
    /// Applies it to a node, if it matches.
    pub apply: fn(&mut Rewriter<'_>, &Node) -> Result<Option<Vec<ValueId>>>,
    /// Builds an instance to which it applies, and returns the output.
    pub instance: fn(&mut Instance) -> Result<ValueId>,
}

/// How close the two sides of a rule are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// The same bits, whatever the operands.
    Bits,
    /// The same number, rounded differently: within the error bounds of the left side.
    Rounding,
}

/// A random instance under construction: a builder, and draws of shapes, dtypes and operands.
#[derive(Debug)]
pub struct Instance {
    /// Builds the graph.
    pub b: Builder<'static>,
    /// Draws.
    pub rng: Rng,
    inputs: usize,
}

impl Instance {
    /// An empty instance.
    pub fn new(seed: u64) -> Instance {
        Instance { b: Builder::new("instance"), rng: Rng::new(seed), inputs: 0 }
    }

    /// The graph of an instance of a rule.
    pub fn graph(rule: &Rule, seed: u64) -> Result<Graph> {
        let mut instance = Instance::new(seed);
        let output = (rule.instance)(&mut instance)?;
        // The symbol that `dim` draws needs an input that binds it.
        instance.b.input("n", Type::tensor(DType::Bool, ["N"]))?;
        instance.b.output("y", output)?;
        instance.b.finish()
    }

    /// A dimension: small, often odd, sometimes 1 or 0, sometimes the symbol `N`.
    pub fn dim(&mut self) -> Dim {
        match self.rng.below(12) {
            0 => Dim::from(0),
            1 | 2 => Dim::from(1),
            3 => Dim::symbol("N"),
            _ => Dim::from(self.rng.between(2, 6)),
        }
    }

    /// A constant dimension of at least 1.
    pub fn size(&mut self) -> i64 {
        self.rng.between(1, 6)
    }

    /// A shape of that rank.
    pub fn shape(&mut self, rank: usize) -> Shape {
        (0..rank).map(|_| self.dim()).collect()
    }

    /// A shape of a random rank up to 4.
    pub fn any_shape(&mut self) -> Shape {
        let rank = self.rng.below(5);
        self.shape(rank)
    }

    /// One of the dtypes.
    pub fn dtype_of(&mut self, accept: impl Fn(DType) -> bool) -> DType {
        let computes = |d: &DType| d.has_arithmetic() || matches!(d, DType::Bool | DType::Str);
        let fits: Vec<DType> = DType::ALL.into_iter().filter(|d| computes(d) && accept(*d)).collect();
        self.rng.pick(&fits).copied().unwrap_or(DType::F32)
    }

    /// A number dtype.
    pub fn number(&mut self) -> DType {
        self.dtype_of(DType::is_number)
    }

    /// A float dtype.
    pub fn float(&mut self) -> DType {
        self.dtype_of(DType::is_float)
    }

    /// An integer dtype.
    pub fn int(&mut self) -> DType {
        self.dtype_of(DType::is_int)
    }

    /// Any dtype.
    pub fn dtype(&mut self) -> DType {
        self.dtype_of(|_| true)
    }

    /// A new input.
    pub fn input(&mut self, dtype: DType, shape: impl Into<Shape>) -> Result<ValueId> {
        self.inputs += 1;
        self.b.input(&format!("x{}", self.inputs), Type::tensor(dtype, shape))
    }

    /// A constant of random elements.
    pub fn constant(&mut self, dtype: DType, sizes: &[usize]) -> Result<ValueId> {
        let tensor: HostTensor = random_tensor(&mut self.rng, dtype, sizes, Elements::Wild)?;
        self.b.constant(tensor)
    }

    /// A number repeated to a shape.
    pub fn splat(&mut self, dtype: DType, value: f64, shape: impl Into<Shape>) -> Result<ValueId> {
        let scalar = self.b.scalar(dtype, value)?;
        self.b.broadcast_to(scalar, shape)
    }

    /// A random permutation.
    pub fn permutation(&mut self, rank: usize) -> Vec<usize> {
        let mut perm: Vec<usize> = (0..rank).collect();
        self.rng.shuffle(&mut perm);
        perm
    }
}
