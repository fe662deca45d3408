//! What the text forms of all levels share: tokens with their places, a cursor over them, names and numbers.
//!
//! Kernels and schedules are read and printed by `lawson-kernel` with the rules that graphs follow, so that a name, a
//! dimension or a float looks the same in each of them. No part of Lawson's public API.

pub use crate::attr::float_text;
pub use crate::dim::{DimToken, DimTokens, parse_dim_tokens};
pub use crate::name::{Name, is_bare, is_bare_symbol};
pub use crate::text::cursor::{Cursor, ValueName};
pub use crate::text::lexer::{Kind, Source, Span, Token};
