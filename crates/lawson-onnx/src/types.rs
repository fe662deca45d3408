//! Types of a model's inputs: `ValueInfoProto` into [`Type`].
//!
//! A dimension is a number, a name, an expression of names, or nothing. A name is a symbol, shared by all inputs that use it.
//! An expression (`past + 1`) counts as one only if each of its names is a dimension of some input by itself, so that it can
//! be solved; any other text is a name. Where nothing is said, the symbol is made from the input's name and the axis.

use crate::proto::{DimensionProto, DimensionValue, TypeValue, ValueInfoProto};
use crate::tensor::dtype;
use lawson_graph::{
    Builder, Code, Dim, Error, HostTensor, Place, Relation, Result, Shape, Symbol, Type, parse_dim,
};
use std::collections::BTreeSet;

/// The dimensions that the inputs name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Names that are a dimension by themselves.
    plain: BTreeSet<String>,
}

/// Whether the text is a name and nothing else.
fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
}

fn dims(info: &ValueInfoProto) -> impl Iterator<Item = &DimensionValue> {
    let shape = match info.r#type.as_ref().and_then(|t| t.value.as_ref()) {
        Some(TypeValue::Tensor(t)) => t.shape.as_ref(),
        _ => None,
    };
    shape.into_iter().flat_map(|s| &s.dim).filter_map(|d| d.value.as_ref())
}

/// Checks a tensor that takes the place of an input: its dtype, and its sizes where the model says them.
pub(crate) fn check_fixed(info: &ValueInfoProto, tensor: &HostTensor) -> Result<()> {
    let name = info.name.as_deref().unwrap_or_default();
    let Some(TypeValue::Tensor(declared)) = info.r#type.as_ref().and_then(|t| t.value.as_ref()) else {
        return Ok(());
    };
    let dims = declared.shape.as_ref().map(|s| s.dim.as_slice());
    let fits = |(dim, size): (&DimensionProto, &usize)| match dim.value {
        Some(DimensionValue::Value(v)) => v < 0 || usize::try_from(v) == Ok(*size),
        _ => true,
    };
    let sizes = tensor.sizes();
    let same_shape = dims.is_none_or(|d| d.len() == sizes.len() && d.iter().zip(sizes).all(fits));
    if same_shape && dtype(declared.elem_type.unwrap_or(0))? == tensor.dtype() {
        return Ok(());
    }
    Err(Error::new(
        Code::InputType,
        format!("the input `{name}` cannot be fixed to a tensor of type {}", tensor.ty()),
    )
    .at(Place::Field(format!("type of the input `{name}`"))))
}

impl Names {
    /// The names in the shapes of the inputs.
    pub(crate) fn of<'a>(inputs: impl IntoIterator<Item = &'a ValueInfoProto>) -> Names {
        let mut names = Names::default();
        for info in inputs {
            for dim in dims(info) {
                if let DimensionValue::Param(text) = dim
                    && is_identifier(text)
                {
                    names.plain.insert(text.clone());
                }
            }
        }
        names
    }

    fn dim(&self, text: &str) -> Dim {
        if !is_identifier(text)
            && let Ok(dim) = parse_dim(text)
        {
            let mut solvable = true;
            dim.visit_symbols(&mut |s| solvable &= self.plain.contains(s.name()));
            if solvable && dim.as_const().is_none_or(|c| c >= 0) {
                return dim;
            }
        }
        Dim::symbol(text)
    }

    /// The type of an input. Symbols are known to be at least 1 from then on: a run with an empty dimension is refused,
    /// and shapes can be reasoned about.
    pub(crate) fn input_type(&self, b: &mut Builder<'_>, info: &ValueInfoProto) -> Result<Type> {
        let name = info.name.as_deref().unwrap_or_default();
        let field = || Place::Field(format!("type of the input `{name}`"));
        let unsupported = |what: &str| {
            Err(Error::new(Code::OnnxUnsupported, format!("the input `{name}` is {what}")).at(field()))
        };
        let tensor = match info.r#type.as_ref().and_then(|t| t.value.as_ref()) {
            Some(TypeValue::Tensor(t)) => t,
            None => {
                return Err(
                    Error::new(Code::OnnxModel, format!("the input `{name}` has no type")).at(field())
                );
            }
            Some(TypeValue::Sequence(_)) => return unsupported("a sequence"),
            Some(TypeValue::Map(_)) => return unsupported("a map"),
            Some(TypeValue::Opaque(_)) => return unsupported("an opaque value"),
            Some(TypeValue::SparseTensor(_)) => return unsupported("a sparse tensor"),
            Some(TypeValue::Optional(_)) => return unsupported("an optional"),
        };
        let dtype = dtype(tensor.elem_type.unwrap_or(0)).map_err(|e| e.at(field()))?;
        let Some(shape) = &tensor.shape else {
            return unsupported("a tensor whose number of dimensions is not said");
        };
        let mut dims = Vec::with_capacity(shape.dim.len());
        for (axis, dim) in shape.dim.iter().enumerate() {
            let dim = match &dim.value {
                // Some exporters write an unknown dimension as -1.
                Some(DimensionValue::Value(v)) if *v >= 0 => Dim::from(*v),
                Some(DimensionValue::Param(text)) if !text.is_empty() => self.dim(text),
                _ => Dim::from(self.fresh(&format!("{name}_{axis}"))),
            };
            let mut symbols: Vec<Symbol> = Vec::new();
            dim.visit_symbols(&mut |s| symbols.push(s.clone()));
            for symbol in symbols {
                b.fact(symbol, Relation::Ge, 1)?;
            }
            if dim.as_const().is_none() && dim.as_symbol().is_none() {
                b.fact(dim.clone(), Relation::Ge, 1)?;
            }
            dims.push(dim);
        }
        Ok(Type::tensor(dtype, Shape::from(dims)))
    }

    fn fresh(&self, base: &str) -> Symbol {
        let mut name = base.to_string();
        while self.plain.contains(&name) {
            name.push('_');
        }
        Symbol::new(name)
    }
}
