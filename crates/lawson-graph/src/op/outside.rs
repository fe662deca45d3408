//! Primitives that reach outside the graph: collectives between participants, and calls to host functions.

use super::infer::{Accept, Infer};
use super::reduce::Monoid;
use crate::dim::{Dim, Symbol};
use crate::error::{Code, Result};
use crate::types::Type;
use crate::{attributes, keywords};

keywords! {
    /// What participants exchange.
    pub enum CollectiveKind {
        /// Every participant gets the combination of all operands.
        AllReduce = "all_reduce",
        /// Every participant gets all operands, one after another along `axis`.
        AllGather = "all_gather",
        /// The combination of all operands, of which each participant keeps its part along `axis`.
        ReduceScatter = "reduce_scatter",
        /// Part `j` along `axis` goes to participant `j`; what arrives is put together along `to_axis`.
        AllToAll = "all_to_all",
        /// Participant `from` sends to participant `to`, for each pair; who gets nothing gets zeros.
        Permute = "collective_permute",
    }
}

attributes! {
    /// An exchange between the participants of a group.
    pub struct Collective {
        /// What is exchanged. In the text form it is the name of the operator.
        pub kind: CollectiveKind,
        /// The group's name: an axis of the mesh.
        pub group: String,
        /// How many participants it has.
        pub size: i64,
        /// How operands are combined.
        pub reduce: Monoid = Monoid::Sum,
        /// The axis that is put together or divided.
        pub axis: usize = 0,
        /// For `all_to_all`: the axis along which what arrives is put together.
        pub to_axis: usize = 0,
        /// For `collective_permute`: pairs (from, to).
        pub pairs: Vec<(usize, usize)> = Vec::new(),
    }
}

attributes! {
    /// A call to a function that the host program provides.
    pub struct HostCall {
        /// The function's name.
        pub name: String,
        /// The types of its results.
        pub results: Vec<Type>,
        /// Symbols that the results' sizes define, with their upper bounds.
        pub defines: Vec<(Symbol, Dim)> = Vec::new(),
        /// Whether equal operands give equal results and nothing else happens.
        pub pure_call: bool = false,
    }
}

impl Collective {
    /// The result type.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        cx.count(1)?;
        cx.check_least("size", &[self.size], 1)?;
        let reduces = matches!(self.kind, CollectiveKind::AllReduce | CollectiveKind::ReduceScatter);
        let t = cx.tensor(0, if reduces { self.reduce.accepts() } else { Accept::NOT_TEXT })?;
        let mut shape = t.shape.clone();
        let divide = |dim: &Dim| {
            if cx.facts.is_multiple(dim, self.size) {
                return Ok(cx.facts.simplify(&dim.floor_div(&Dim::from(self.size))));
            }
            let message =
                format!("axis {} is {dim}, which does not divide into {} parts", self.axis, self.size);
            Err(cx.error(Code::DimMismatch, 0, message))
        };
        match self.kind {
            CollectiveKind::AllReduce => {}
            CollectiveKind::AllGather => {
                cx.check_axis("axis", self.axis, t.rank())?;
                shape.dims_mut()[self.axis] = t.shape[self.axis].clone() * self.size;
            }
            CollectiveKind::ReduceScatter => {
                cx.check_axis("axis", self.axis, t.rank())?;
                shape.dims_mut()[self.axis] = divide(&t.shape[self.axis])?;
            }
            CollectiveKind::AllToAll => {
                cx.check_axis("axis", self.axis, t.rank())?;
                cx.check_axis("to_axis", self.to_axis, t.rank())?;
                shape.dims_mut()[self.axis] = divide(&t.shape[self.axis])?;
                let to = &mut shape.dims_mut()[self.to_axis];
                *to = to.clone() * self.size;
            }
            CollectiveKind::Permute => {
                for side in [|p: &(usize, usize)| p.0, |p: &(usize, usize)| p.1] {
                    let members: Vec<usize> = self.pairs.iter().map(side).collect();
                    cx.check_axes("pairs", &members, self.size as usize)?;
                }
            }
        }
        cx.result(t.dtype, shape)
    }
}

impl HostCall {
    /// The result types.
    pub fn infer(&self, cx: Infer<'_>) -> Result<Vec<Type>> {
        for (_, bound) in &self.defines {
            cx.check_nonnegative("defines", bound)?;
        }
        for ty in &self.results {
            if let Type::Tensor(t) = ty {
                super::infer::check_shape(&t.shape)?;
            }
        }
        Ok(self.results.clone())
    }
}
