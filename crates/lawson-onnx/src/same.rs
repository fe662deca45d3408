//! Nodes that compute what another one has computed already: the same operator with the same attributes on the same operands.
//!
//! Exporters repeat themselves, and mostly a pass would find that out later. But what defines a size when the model runs must
//! define it once: the sizes of two searches for the same elements would otherwise not be known to be equal.

use crate::item::Item;
use crate::node::NodeCx;
use prost::Message;

/// Constants of more bytes are the same only if they lie at the same place.
const COMPARED: usize = 256;

/// What a node computes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key(Vec<u8>);

/// What a node computes; `None` if it may be something else every time, or if that is not easily said.
pub(crate) fn key(cx: &NodeCx<'_, '_>) -> Option<Key> {
    let node = cx.node;
    let op = cx.op();
    let random = ["Random", "Bernoulli", "Multinomial", "Dropout"].iter().any(|p| op.starts_with(p));
    let plain = node.attribute.iter().all(|a| a.g.is_none() && a.t.is_none() && a.sparse_tensor.is_none());
    if random || !plain || node.input.is_empty() {
        return None;
    }
    let mut bytes = Vec::new();
    let mut part = |tag: u8, content: &[u8]| {
        bytes.push(tag);
        bytes.extend(content.len().to_le_bytes());
        bytes.extend(content);
    };
    part(0, node.domain.as_deref().unwrap_or_default().as_bytes());
    part(0, op.as_bytes());
    node.output.iter().for_each(|o| part(1, &[u8::from(!o.is_empty())]));
    node.attribute.iter().for_each(|a| part(2, &a.encode_to_vec()));
    for (i, _) in node.input.iter().enumerate() {
        if !cx.has(i) {
            part(3, &[]);
            continue;
        }
        match cx.item(i).ok()? {
            Item::Value(v) | Item::Known(v, _) => part(4, &v.index().to_le_bytes()),
            Item::Constant(t) if t.dtype() != lawson_graph::DType::Str => {
                part(5, t.ty().to_string().as_bytes());
                match t.bytes().len() {
                    0..=COMPARED => part(6, t.bytes()),
                    _ => part(7, &(t.bytes().as_ptr() as usize).to_le_bytes()),
                }
            }
            Item::Dims(t) => {
                part(8, format!("{}{:?}", t.dtype, t.sizes).as_bytes());
                t.dims.iter().for_each(|d| part(9, d.to_string().as_bytes()));
            }
            Item::Constant(_) | Item::Sequence(_) | Item::Optional(_) => return None,
        }
    }
    Some(Key(bytes))
}
