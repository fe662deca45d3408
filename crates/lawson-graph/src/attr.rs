//! Attributes: the static parameters of operators, as data that the text form prints and reads.
//!
//! An operator's parameters are a typed struct; the `attributes!` macro gives the struct both directions,
//! `to_attrs` for printing and `from_attrs` for reading, so that no operator has printing or parsing code of its
//! own. A field with a default is left out of the text when it has that value.

use crate::dim::{Dim, Symbol};
use crate::dtype::DType;
use crate::error::{Code, Error, Place, Result};
use crate::name::Quoted;
use crate::types::{Shape, Type};
use std::fmt;

/// The value of an attribute.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Attr {
    /// `true` or `false`
    Bool(bool),
    /// A number with a point, an exponent, `inf` or `nan`.
    Float(f64),
    /// A quoted text.
    Str(String),
    /// A dimension expression, or an integer. A lone name read from a text arrives here too: only the operator
    /// knows whether it is a symbol or a keyword.
    Dim(Dim),
    /// A keyword or a dtype.
    Keyword(String),
    /// A type with brackets, such as `f32[N, 3]`.
    Type(Type),
    /// A list in brackets.
    List(Vec<Attr>),
}

impl Attr {
    /// A keyword, such as `sum`.
    pub fn keyword(name: &str) -> Attr {
        Attr::Keyword(name.to_string())
    }

    /// The name, if it reads as a keyword.
    pub fn as_keyword(&self) -> Option<&str> {
        match self {
            Attr::Dim(d) => d.as_symbol().map(Symbol::name),
            Attr::Keyword(k) => Some(k),
            _ => None,
        }
    }

    /// The same attribute with every dimension expression replaced.
    pub fn map_dims(&self, map: &impl Fn(&Dim) -> Dim) -> Attr {
        match self {
            Attr::Dim(d) => Attr::Dim(map(d)),
            Attr::Type(t) => Attr::Type(t.map_dims(map)),
            Attr::List(items) => Attr::List(items.iter().map(|a| a.map_dims(map)).collect()),
            other => other.clone(),
        }
    }

    /// Calls `visit` with every dimension expression.
    pub fn visit_dims<'a>(&'a self, visit: &mut impl FnMut(&'a Dim)) {
        match self {
            Attr::Dim(d) => visit(d),
            Attr::Type(t) => t.visit_dims(visit),
            Attr::List(items) => items.iter().for_each(|a| a.visit_dims(visit)),
            _ => {}
        }
    }
}

impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attr::Bool(b) => write!(f, "{b}"),
            Attr::Float(v) => f.write_str(&float_text(*v)),
            Attr::Str(s) => write!(f, "{}", Quoted(s)),
            Attr::Dim(d) => write!(f, "{d}"),
            Attr::Keyword(k) => f.write_str(k),
            Attr::Type(t) => write!(f, "{t}"),
            Attr::List(items) => {
                f.write_str("[")?;
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
        }
    }
}

/// Floats are equal by their bits, so that an attribute that is NaN equals itself.
impl PartialEq for Attr {
    fn eq(&self, other: &Attr) -> bool {
        match (self, other) {
            (Attr::Bool(a), Attr::Bool(b)) => a == b,
            (Attr::Float(a), Attr::Float(b)) => a.to_bits() == b.to_bits(),
            (Attr::Str(a), Attr::Str(b)) | (Attr::Keyword(a), Attr::Keyword(b)) => a == b,
            (Attr::Dim(a), Attr::Dim(b)) => a == b,
            (Attr::Type(a), Attr::Type(b)) => a == b,
            (Attr::List(a), Attr::List(b)) => a == b,
            _ => false,
        }
    }
}

impl std::hash::Hash for Attr {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Attr::Bool(b) => b.hash(state),
            Attr::Float(v) => v.to_bits().hash(state),
            Attr::Str(s) | Attr::Keyword(s) => s.hash(state),
            Attr::Dim(d) => d.hash(state),
            Attr::Type(t) => t.hash(state),
            Attr::List(items) => items.hash(state),
        }
    }
}

/// The bits of the NaN that is written `nan`.
pub(crate) const CANONICAL_NAN: u64 = 0x7ff8 << 48;

/// The shortest text that reads back as the same f64, always recognisable as a float.
#[doc(hidden)]
pub fn float_text(v: f64) -> String {
    if v.is_nan() {
        let sign = if v.is_sign_negative() { "-" } else { "" };
        // Not every NaN has the same bits, and equality of attributes is by bits.
        let bits = v.to_bits() & !(1 << 63);
        return if bits == CANONICAL_NAN { format!("{sign}nan") } else { format!("{sign}nan(\"{bits:x}\")") };
    }
    if v.is_infinite() {
        return if v < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let magnitude = v.abs();
    if magnitude != 0.0 && !(1e-5..1e17).contains(&magnitude) { format!("{v:e}") } else { format!("{v:?}") }
}

/// A Rust type that can be an attribute.
pub trait AttrValue: Sized + PartialEq {
    /// What this type looks like, for error messages.
    const EXPECTED: &'static str;
    /// As an attribute.
    fn to_attr(&self) -> Attr;
    /// From an attribute of the right form.
    fn from_attr(attr: &Attr) -> Option<Self>;
}

impl AttrValue for bool {
    const EXPECTED: &'static str = "true or false";

    fn to_attr(&self) -> Attr {
        Attr::Bool(*self)
    }

    fn from_attr(attr: &Attr) -> Option<bool> {
        match attr {
            Attr::Bool(b) => Some(*b),
            _ => None,
        }
    }
}

macro_rules! integer_attr {
    ($($t:ty => $expected:literal),*) => {$(
        impl AttrValue for $t {
            const EXPECTED: &'static str = $expected;

            fn to_attr(&self) -> Attr {
                Attr::Dim(i64::try_from(*self).map_or_else(|_| Dim::overflow(), Dim::from))
            }

            fn from_attr(attr: &Attr) -> Option<$t> {
                match attr {
                    Attr::Dim(d) => d.as_const().and_then(|c| <$t>::try_from(c).ok()),
                    _ => None,
                }
            }
        }
    )*};
}
integer_attr!(i64 => "a whole number", usize => "a number from 0", u64 => "a number from 0");

impl AttrValue for f64 {
    const EXPECTED: &'static str = "a number";

    fn to_attr(&self) -> Attr {
        Attr::Float(*self)
    }

    fn from_attr(attr: &Attr) -> Option<f64> {
        match attr {
            Attr::Float(v) => Some(*v),
            Attr::Dim(d) => d.as_const().map(|c| c as f64),
            _ => None,
        }
    }
}

impl AttrValue for String {
    const EXPECTED: &'static str = "a text in quotes";

    fn to_attr(&self) -> Attr {
        Attr::Str(self.clone())
    }

    fn from_attr(attr: &Attr) -> Option<String> {
        match attr {
            Attr::Str(s) => Some(s.clone()),
            _ => None,
        }
    }
}

impl AttrValue for Dim {
    const EXPECTED: &'static str = "a dimension";

    fn to_attr(&self) -> Attr {
        Attr::Dim(self.clone())
    }

    fn from_attr(attr: &Attr) -> Option<Dim> {
        match attr {
            Attr::Dim(d) => Some(d.clone()),
            _ => None,
        }
    }
}

impl AttrValue for Symbol {
    const EXPECTED: &'static str = "the name of a symbol";

    fn to_attr(&self) -> Attr {
        Attr::Dim(Dim::from(self.clone()))
    }

    fn from_attr(attr: &Attr) -> Option<Symbol> {
        match attr {
            Attr::Dim(d) => d.as_symbol().cloned(),
            _ => None,
        }
    }
}

impl AttrValue for DType {
    const EXPECTED: &'static str = "a dtype";

    fn to_attr(&self) -> Attr {
        Attr::keyword(self.name())
    }

    fn from_attr(attr: &Attr) -> Option<DType> {
        attr.as_keyword()?.parse().ok()
    }
}

impl AttrValue for Type {
    const EXPECTED: &'static str = "a type";

    fn to_attr(&self) -> Attr {
        Attr::Type(self.clone())
    }

    fn from_attr(attr: &Attr) -> Option<Type> {
        match attr {
            Attr::Type(t) => Some(t.clone()),
            _ => None,
        }
    }
}

impl AttrValue for Shape {
    const EXPECTED: &'static str = "a list of dimensions";

    fn to_attr(&self) -> Attr {
        Attr::List(self.iter().cloned().map(Attr::Dim).collect())
    }

    fn from_attr(attr: &Attr) -> Option<Shape> {
        Vec::<Dim>::from_attr(attr).map(Shape::from)
    }
}

impl<T: AttrValue> AttrValue for Vec<T> {
    const EXPECTED: &'static str = "a list in brackets";

    fn to_attr(&self) -> Attr {
        Attr::List(self.iter().map(AttrValue::to_attr).collect())
    }

    fn from_attr(attr: &Attr) -> Option<Vec<T>> {
        match attr {
            Attr::List(items) => items.iter().map(T::from_attr).collect(),
            _ => None,
        }
    }
}

impl<A: AttrValue, B: AttrValue> AttrValue for (A, B) {
    const EXPECTED: &'static str = "a pair in brackets";

    fn to_attr(&self) -> Attr {
        Attr::List(vec![self.0.to_attr(), self.1.to_attr()])
    }

    fn from_attr(attr: &Attr) -> Option<(A, B)> {
        match attr {
            Attr::List(items) => match items.as_slice() {
                [a, b] => A::from_attr(a).zip(B::from_attr(b)),
                _ => None,
            },
            _ => None,
        }
    }
}

impl<T: AttrValue> AttrValue for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn to_attr(&self) -> Attr {
        match self {
            Some(value) => value.to_attr(),
            None => Attr::keyword("none"),
        }
    }

    fn from_attr(attr: &Attr) -> Option<Option<T>> {
        if attr.as_keyword() == Some("none") {
            return Some(None);
        }
        T::from_attr(attr).map(Some)
    }
}

/// Attributes as read from a text, taken one by one by the operator that they belong to.
#[derive(Debug)]
pub struct AttrReader {
    op: String,
    left: Vec<(String, Attr)>,
    known: Vec<&'static str>,
}

impl AttrReader {
    /// A reader over attributes of one operator.
    pub fn new(op: impl Into<String>, attrs: Vec<(String, Attr)>) -> AttrReader {
        AttrReader { op: op.into(), left: attrs, known: Vec::new() }
    }

    /// The operator's name.
    pub fn op(&self) -> &str {
        &self.op
    }

    fn place(&self, name: &str) -> Place {
        Place::Attribute { op: self.op.clone(), name: name.to_string() }
    }

    /// Takes an attribute if it is there.
    pub fn take<T: AttrValue>(&mut self, name: &'static str) -> Result<Option<T>> {
        self.known.push(name);
        let Some(at) = self.left.iter().position(|(n, _)| n == name) else { return Ok(None) };
        let (_, attr) = self.left.remove(at);
        match T::from_attr(&attr) {
            Some(value) => Ok(Some(value)),
            None => Err(Error::new(Code::Attribute, format!("expected {}, found `{attr}`", T::EXPECTED))
                .at(self.place(name))),
        }
    }

    /// Takes an attribute that must be there.
    pub fn require<T: AttrValue>(&mut self, name: &'static str) -> Result<T> {
        let place = self.place(name);
        self.take(name)?.ok_or_else(|| {
            Error::new(Code::Attribute, format!("the attribute `{name}` is missing: {}", T::EXPECTED))
                .at(place)
        })
    }

    /// Refuses attributes that nobody took.
    pub fn finish(self) -> Result<()> {
        let Some((name, _)) = self.left.first() else { return Ok(()) };
        let known = match self.known.as_slice() {
            [] => format!("`{}` has no attributes", self.op),
            names => format!("the attributes of `{}` are {}", self.op, names.join(", ")),
        };
        Err(Error::new(Code::Attribute, format!("there is no attribute `{name}`"))
            .at(self.place(name))
            .help(known))
    }
}

/// The parameters of an operator, as attributes.
pub trait Attributes: Sized {
    /// For printing: those that differ from their defaults.
    fn to_attrs(&self) -> Vec<(&'static str, Attr)>;
    /// From a text.
    fn from_attrs(reader: &mut AttrReader) -> Result<Self>;
}

/// Declares a struct of parameters with its `Attributes`. A field may have a default: `field: Type = value`.
#[macro_export]
macro_rules! attributes {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$fmeta:meta])* pub $field:ident: $t:ty $(= $default:expr)?,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$fmeta])* pub $field: $t,)* }

        impl $crate::Attributes for $name {
            fn to_attrs(&self) -> Vec<(&'static str, $crate::Attr)> {
                let attrs: Vec<Option<(&'static str, $crate::Attr)>> =
                    vec![$($crate::attributes!(@put self, $field, $t $(, $default)?)),*];
                attrs.into_iter().flatten().collect()
            }

            fn from_attrs(reader: &mut $crate::AttrReader) -> $crate::Result<Self> {
                let _ = &reader;
                Ok($name { $($field: $crate::attributes!(@get reader, $field, $t $(, $default)?),)* })
            }
        }
    };
    (@put $self:ident, $field:ident, $t:ty) => {
        Some((stringify!($field), $crate::AttrValue::to_attr(&$self.$field)))
    };
    (@put $self:ident, $field:ident, $t:ty, $default:expr) => {{
        let default: $t = $default;
        ($self.$field != default).then(|| (stringify!($field), $crate::AttrValue::to_attr(&$self.$field)))
    }};
    (@get $reader:ident, $field:ident, $t:ty) => { $reader.require::<$t>(stringify!($field))? };
    (@get $reader:ident, $field:ident, $t:ty, $default:expr) => {
        match $reader.take::<$t>(stringify!($field))? {
            Some(value) => value,
            None => $default,
        }
    };
}

/// Declares an enum whose variants are keywords of the text form.
#[macro_export]
macro_rules! keywords {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// Every variant.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The keyword in the text form.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The variant of that keyword.
            pub fn from_name(name: &str) -> Option<$name> {
                match name { $($text => Some($name::$variant),)* _ => None }
            }
        }

        impl $crate::AttrValue for $name {
            const EXPECTED: &'static str = concat!("one of" $(, " ", $text)*);

            fn to_attr(&self) -> $crate::Attr {
                $crate::Attr::keyword(self.name())
            }

            fn from_attr(attr: &$crate::Attr) -> Option<$name> {
                $name::from_name(attr.as_keyword()?)
            }
        }
    };
}
