//! Types of a model's inputs: `ValueInfoProto` into [`Type`].
//!
//! A dimension is a number, a name, an expression of names, or nothing. A name is a symbol, shared by all inputs that use it; what
//! says nothing, such as `?`, is none, and neither is one whose sizes are not equal for the inputs that the model is imported for:
//! some exporters call all dimensions the same.
//! An expression (`past + 1`) counts as one only if each of its names is a dimension of some input by itself, so that it can
//! be solved; any other text is a name. Where nothing is said, the symbol is made from the input's name and the axis.

use crate::item::sequence_type;
use crate::proto::{
    DimensionProto, DimensionValue, ElementTypeProto, TensorTypeProto, TypeValue, ValueInfoProto,
};
use crate::special::Special;
use crate::tensor::dtype;
use lawson_graph::{
    Builder, Code, DType, Dim, Error, HostTensor, Place, Relation, Result, Shape, Symbol, Type, Value,
    no_such_size, parse_dim,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// The dimensions that the inputs name.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Names that are a dimension by themselves.
    plain: BTreeSet<String>,
    /// Names of sizes that differ.
    unequal: BTreeSet<String>,
    /// Sizes that are fixed.
    sizes: BTreeMap<String, usize>,
    /// The names of sizes that were met.
    met: RefCell<BTreeSet<String>>,
}

/// Whether the text is a name and nothing else.
fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
}

/// Whether the text says something, so that it may say the same elsewhere.
fn is_name(text: &str) -> bool {
    text.contains(|c: char| c.is_alphanumeric())
}

fn declared_dims(info: &ValueInfoProto) -> impl Iterator<Item = &DimensionProto> {
    let shape = match info.r#type.as_ref().and_then(|t| t.value.as_ref()) {
        Some(TypeValue::Tensor(t)) => t.shape.as_ref(),
        _ => None,
    };
    shape.into_iter().flat_map(|s| &s.dim)
}

fn dims(info: &ValueInfoProto) -> impl Iterator<Item = &DimensionValue> {
    declared_dims(info).filter_map(|d| d.value.as_ref())
}

/// Whether a tensor may have these sizes.
fn fits(declared: &[DimensionProto], sizes: &[usize]) -> bool {
    let one = |(dim, size): (&DimensionProto, &usize)| match dim.value {
        Some(DimensionValue::Value(v)) => v < 0 || usize::try_from(v) == Ok(*size),
        _ => true,
    };
    declared.len() == sizes.len() && declared.iter().zip(sizes).all(one)
}

/// Checks a tensor that takes the place of an input: its dtype, and its sizes where the model says them.
pub(crate) fn check_fixed(info: &ValueInfoProto, tensor: &HostTensor) -> Result<()> {
    let name = info.name.as_deref().unwrap_or_default();
    let Some(TypeValue::Tensor(declared)) = info.r#type.as_ref().and_then(|t| t.value.as_ref()) else {
        return Ok(());
    };
    let dims = declared.shape.as_ref().map(|s| s.dim.as_slice());
    let same_shape = dims.is_none_or(|d| fits(d, tensor.sizes()));
    if same_shape && dtype(declared.elem_type.unwrap_or(0))? == tensor.dtype() {
        return Ok(());
    }
    Err(Error::new(
        Code::InputType,
        format!("the input `{name}` cannot be fixed to a tensor of type {}", tensor.ty()),
    )
    .at(Place::Field(format!("type of the input `{name}`"))))
}

/// Checks that an output has the dtype that the model declares. Shapes are not compared: exporters leave there what they were before.
pub(crate) fn check_output(info: &ValueInfoProto, ty: &Type) -> Result<()> {
    let name = info.name.as_deref().unwrap_or_default();
    let declared = match info.r#type.as_ref().and_then(|t| t.value.as_ref()) {
        Some(TypeValue::Tensor(t)) => t.elem_type.filter(|n| *n != 0),
        _ => None,
    };
    let (Some(declared), Some(own)) = (declared, ty.as_tensor()) else { return Ok(()) };
    let field = || Place::Field(format!("type of the output `{name}`"));
    let declared = dtype(declared).map_err(|e| e.at(field()))?;
    if declared == own.dtype {
        return Ok(());
    }
    let said = format!(
        "the output `{name}` is declared as {declared}, but what the model computes is {}",
        own.dtype
    );
    Err(Error::new(Code::OnnxModel, said)
        .at(field())
        .help("mend the declaration, or convert the output with a `Cast`"))
}

impl Names {
    /// The names in the shapes of the inputs.
    pub(crate) fn of<'a>(
        inputs: impl IntoIterator<Item = &'a ValueInfoProto>,
        special: &Special<'_>,
        fixed: &BTreeMap<String, usize>,
    ) -> Names {
        let mut names = Names { sizes: fixed.clone(), ..Names::default() };
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for info in inputs {
            let given = special.value(info.name.as_deref().unwrap_or_default()).and_then(Value::as_tensor);
            for (dim, size) in declared_dims(info).zip(given.map_or(&[][..], HostTensor::sizes)) {
                if let Some(DimensionValue::Param(name)) = &dim.value
                    && *sizes.entry(name).or_insert(*size) != *size
                {
                    names.unequal.insert(name.clone());
                }
            }
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
    /// and shapes can be reasoned about. What the model does not say is taken from the value that the input will have.
    pub(crate) fn input_type(
        &self,
        b: &mut Builder<'_>,
        info: &ValueInfoProto,
        special: &Special<'_>,
    ) -> Result<Type> {
        let name = info.name.as_deref().unwrap_or_default();
        let field = || Place::Field(format!("type of the input `{name}`"));
        let Some(ty) = info.r#type.as_ref().and_then(|t| t.value.as_ref()) else {
            return Err(Error::new(Code::OnnxModel, format!("the input `{name}` has no type"))
                .at(field())
                .help("declare its element type and its shape, whose sizes may be open"));
        };
        self.type_of(b, name, ty, special.value(name), special.sizes(name)).map_err(|e| e.at(field()))
    }

    fn type_of(
        &self,
        b: &mut Builder<'_>,
        name: &str,
        ty: &TypeValue,
        given: Option<&Value>,
        sizes: Option<&[usize]>,
    ) -> Result<Type> {
        let unsupported =
            |what: &str| Err(Error::new(Code::OnnxUnsupported, format!("the input `{name}` is {what}")));
        let inner = |t: &'_ ElementTypeProto| t.elem_type.as_ref().and_then(|t| t.value.clone());
        match (ty, given) {
            (TypeValue::Tensor(t), given) => {
                self.tensor_type(b, name, t, given.and_then(Value::as_tensor), sizes)
            }
            (TypeValue::Sequence(t), Some(Value::Sequence(elements))) => {
                let Some(TypeValue::Tensor(element)) = inner(t) else {
                    return unsupported("a sequence of something else than tensors");
                };
                let shapes: Vec<Shape> = elements.iter().map(|t| Shape::from(t.sizes())).collect();
                let dtype = dtype(element.elem_type.unwrap_or(0))?;
                Ok(Type::Sequence(sequence_type(b, dtype, &shapes)))
            }
            (TypeValue::Sequence(_), _) => unsupported("a sequence, and it is not said of which length"),
            (TypeValue::Optional(t), Some(Value::Optional(content))) => {
                let Some(of) = inner(t) else { return unsupported("an optional of an unknown type") };
                // What is not there has any type that fits the declared one.
                let nothing = match of {
                    TypeValue::Sequence(_) => Value::Sequence(Vec::new()),
                    _ => HostTensor::zeros(DType::F32, &[])?.into(),
                };
                let content = content.as_deref().unwrap_or(&nothing);
                self.type_of(b, name, &of, Some(content), None).map(|t| Type::Optional(Box::new(t)))
            }
            (TypeValue::Optional(_), _) => unsupported("an optional, and it is not said whether it is there"),
            (TypeValue::Map(_), _) => unsupported("a map"),
            (TypeValue::Opaque(_), _) => unsupported("an opaque value"),
            (TypeValue::SparseTensor(_), _) => unsupported("a sparse tensor"),
        }
    }

    fn tensor_type(
        &self,
        b: &mut Builder<'_>,
        name: &str,
        tensor: &TensorTypeProto,
        given: Option<&HostTensor>,
        sizes: Option<&[usize]>,
    ) -> Result<Type> {
        let dtype = dtype(tensor.elem_type.unwrap_or(0))?;
        if let Some(sizes) = sizes {
            let declared = tensor.shape.as_ref().map(|s| s.dim.as_slice());
            if !declared.is_none_or(|d| fits(d, sizes)) {
                return Err(Error::new(
                    Code::InputType,
                    format!("the input `{name}` is declared with another shape than the {sizes:?} that came"),
                )
                .help("give a tensor of the declared shape, or leave sizes open in the declaration"));
            }
            return Ok(Type::tensor(dtype, Shape::from(sizes)));
        }
        let unsaid = DimensionProto { value: None };
        let declared: Vec<&DimensionProto> = match (&tensor.shape, given) {
            (Some(shape), _) => shape.dim.iter().collect(),
            (None, Some(given)) => vec![&unsaid; given.sizes().len()],
            (None, None) => {
                return Err(Error::new(
                    Code::OnnxUnsupported,
                    format!("the input `{name}` is a tensor whose number of dimensions is not said"),
                )
                .help("declare a shape, whose sizes may be open; or import the model for given inputs"));
            }
        };
        let mut dims = Vec::with_capacity(declared.len());
        for (axis, dim) in declared.into_iter().enumerate() {
            let is_empty = given.and_then(|t| t.sizes().get(axis)) == Some(&0);
            let dim = match &dim.value {
                Some(DimensionValue::Value(v)) if *v >= 0 => Dim::from(*v),
                // Some exporters write an unknown dimension as -1.
                Some(DimensionValue::Value(v)) if *v < -1 => {
                    let said = format!("dimension {axis} of the input `{name}` is {v}");
                    return Err(Error::new(Code::OnnxModel, said)
                        .help("a dimension is a size, a name, or -1 where it is open"));
                }
                _ if is_empty => Dim::ZERO,
                Some(DimensionValue::Param(text)) if is_name(text) && !self.unequal.contains(text) => {
                    self.dim(text)
                }
                _ => Dim::from(self.fresh(&format!("{name}_{axis}"))),
            };
            dim.visit_symbols(&mut |s| {
                self.met.borrow_mut().insert(s.name().to_string());
            });
            let dim = dim.substitute(&|s| self.sizes.get(s.name()).map(|n| Dim::from(*n)));
            if let Some(negative) = dim.as_const().filter(|n| *n < 0) {
                return Err(Error::new(
                    Code::InputType,
                    format!(
                        "dimension {axis} of the input `{name}` is {negative} for the sizes that are fixed"
                    ),
                )
                .help("fix other sizes"));
            }
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

    /// Refuses sizes to be fixed that no input has.
    pub(crate) fn check_fixed(&self) -> Result<()> {
        let met = self.met.borrow();
        let Some(name) = self.sizes.keys().find(|name| !met.contains(*name)) else { return Ok(()) };
        Err(no_such_size(name, met.iter().map(String::as_str)))
    }

    fn fresh(&self, base: &str) -> Symbol {
        let mut name = base.to_string();
        while self.plain.contains(&name) {
            name.push('_');
        }
        Symbol::new(name)
    }
}
