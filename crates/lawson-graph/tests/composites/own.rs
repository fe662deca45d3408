//! Composites that users define: in Rust, and as graphs.

use lawson_graph::interp::{self, Options};
use lawson_graph::{
    AttrReader, Builder, Code, CompositeDef, DType, Function, Graph, HostTensor, Op, Registry, Relation,
    Result, Type, ValueId, attributes, example,
};
use std::sync::Arc;

attributes! {
    /// `x² + shift`
    pub struct ShiftedSquare {
        /// What is added.
        pub shift: f64 = 0.0,
    }
}

impl CompositeDef for ShiftedSquare {
    const NAME: &'static str = "shifted_square";

    fn decompose(&self, b: &mut Builder<'_>, inputs: &[ValueId]) -> Result<Vec<ValueId>> {
        let [x] = b.operands(Self::NAME, inputs)?;
        let square = b.mul(x, x)?;
        Ok(vec![b.add_scalar(square, self.shift)?])
    }

    fn examples() -> Result<Vec<Graph>> {
        Ok(vec![example(ShiftedSquare { shift: 0.5 }, [("x", Type::tensor(DType::F32, [3]))])?])
    }
}

fn own() -> Registry {
    let mut registry = Registry::standard().clone();
    registry.register::<ShiftedSquare>();
    registry
}

#[test]
fn a_composite_in_rust_is_read_by_its_name_and_runs() {
    let reader =
        || AttrReader::new("shifted_square", vec![("shift".to_string(), super::operands::attr("0.5"))]);
    let op = Op::from_parts("shifted_square", reader(), Vec::new(), &own()).unwrap();
    let unknown = Op::from_parts("shifted_square", reader(), Vec::new(), Registry::standard()).unwrap_err();
    assert_eq!(unknown.code(), Code::UnknownName);

    let mut b = Builder::new("test");
    let x = b.input("x", Type::tensor(DType::F32, ["N"])).unwrap();
    let y = b.op1(op, &[x]).unwrap();
    b.output("y", y).unwrap();
    let x = HostTensor::from_slice(&[2], &[2f32, -3.0]).unwrap();
    let y = interp::run(&b.finish().unwrap(), &[x.into()], &Options::default()).unwrap();
    assert_eq!(y, [HostTensor::from_slice(&[2], &[4.5f32, 9.5]).unwrap().into()]);
}

#[test]
fn a_registry_gives_examples_of_what_was_added_to_it() {
    let mut f = Builder::new("halves");
    f.fact("N", Relation::Ge, 1).unwrap();
    let x = f.input("x", Type::tensor(DType::F32, ["N"])).unwrap();
    let y = f.mul_scalar(x, 0.5).unwrap();
    f.output("y", y).unwrap();
    let mut registry = own();
    registry.register_function(Arc::new(Function::new(f.finish().unwrap()))).unwrap();
    let examples = registry.examples().unwrap();
    for name in ["shifted_square", "halves"] {
        let (_, graphs) = examples.iter().find(|(n, _)| *n == name).unwrap();
        assert!(graphs.iter().all(|g| g.nodes().iter().any(|n| n.op.name() == name)));
    }
}

#[test]
fn the_builder_has_methods_for_the_common_composites() -> Result<()> {
    let mut b = Builder::new("block");
    let x = b.input("x", Type::tensor(DType::F32, ["N".into(), lawson_graph::Dim::from(3)]))?;
    let w = b.input("w", Type::tensor(DType::F32, [3, 3]))?;
    let scale = b.input("scale", Type::tensor(DType::F32, [3]))?;
    let h = b.layer_norm(x, scale, scale, 1, 1e-5)?;
    let h = b.linear(h, w, Some(scale))?;
    let h = b.gelu(h)?;
    let h = b.rms_norm(h, scale, 1, 1e-6)?;
    let h = b.softmax(h, 1)?;
    let (best, at) = b.top_k(h, 2, 1)?;
    assert_eq!(b.ty(best).to_string(), "f32[N, 2]");
    assert_eq!(b.ty(at).to_string(), "i64[N, 2]");
    let least = b.clip(best, 0.0, 1.0)?;
    b.output("y", least)?;
    b.finish().map(|_| ())
}
