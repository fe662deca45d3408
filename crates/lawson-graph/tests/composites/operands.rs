//! Wrong operands and attributes: each composite refuses them with an error that names itself and the place.

use lawson_graph::{Attr, AttrReader, Builder, Code, DType, Dim, Error, Op, Place, Registry, Type};

/// A type from a short text: `f32[2,N]`.
pub fn ty(text: &str) -> Type {
    let (dtype, dims) = text.split_once('[').unwrap();
    let dims = dims.trim_end_matches(']').split(',').filter(|d| !d.is_empty());
    let dtype: DType = dtype.parse().unwrap();
    Type::tensor(dtype, dims.map(|d| lawson_graph::parse_dim(d).unwrap()).collect::<lawson_graph::Shape>())
}

/// An attribute from a short text: `3`, `0.5`, `true`, `[1,2]`, `mean`, `N`.
pub fn attr(text: &str) -> Attr {
    if let Some(inner) = text.strip_prefix('[') {
        let items = inner.trim_end_matches(']').split(',').filter(|t| !t.is_empty());
        return Attr::List(items.map(attr).collect());
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Attr::Dim(Dim::from(whole));
    }
    match text {
        "true" => Attr::Bool(true),
        "false" => Attr::Bool(false),
        // A lone name is a symbol or a keyword; the operator knows which.
        _ => text.parse::<f64>().map_or_else(|_| Attr::Dim(Dim::symbol(text)), Attr::Float),
    }
}

/// The composite that a short text describes: `softmax axis=1`.
pub fn composite(text: &str) -> Result<Op, Error> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap();
    let attrs = words.map(|w| w.split_once('=').unwrap()).map(|(n, v)| (n.to_string(), attr(v))).collect();
    Op::from_parts(name, AttrReader::new(name, attrs), Vec::new(), Registry::standard())
}

/// What comes of applying a composite to operands of these types.
fn apply(text: &str, operands: &[&str]) -> Result<(), Error> {
    let mut b = Builder::new("test");
    let mut inputs = Vec::new();
    for (i, operand) in operands.iter().enumerate() {
        inputs.push(b.input(&format!("x{i}"), ty(operand)).unwrap());
    }
    b.op(composite(text)?, &inputs).map(|_| ())
}

/// Checks that the operand at `index` is refused.
fn refused(text: &str, operands: &[&str], code: Code, index: usize) {
    let error = apply(text, operands).expect_err(text);
    assert_eq!(error.code(), code, "{text}: {error}");
    let name = text.split_whitespace().next().unwrap();
    let named = error
        .places()
        .iter()
        .any(|p| matches!(p, Place::Operand { op, index: i, .. } if op == name && *i == index));
    assert!(named, "{text} does not name operand {index} of {name}: {error}");
}

/// Checks that an attribute is refused.
fn refused_attribute(text: &str, operands: &[&str], attribute: &str) {
    let error = apply(text, operands).expect_err(text);
    let op_name = text.split_whitespace().next().unwrap();
    let named = error
        .places()
        .iter()
        .any(|p| matches!(p, Place::Attribute { op, name } if op == op_name && name == attribute));
    assert!(named, "{text} does not name the attribute {attribute}: {error}");
}

#[test]
fn every_composite_refuses_a_wrong_number_of_operands() {
    for (name, graphs) in Registry::standard().examples().unwrap() {
        let node = graphs[0].nodes().iter().find(|n| n.op.name() == name).unwrap();
        for operands in [0, 9] {
            let mut b = Builder::new("test");
            let x = b.input("x", graphs[0].ty(node.inputs[0]).clone()).unwrap();
            let error = b.op(node.op.clone(), &vec![x; operands]).expect_err(name);
            assert_eq!(error.code(), Code::OperandCount, "{name}: {error}");
            assert!(error.message().contains(&format!("`{name}`")), "{name}: {error}");
        }
    }
}

#[test]
fn every_composite_refuses_text_as_its_first_operand() {
    for (name, graphs) in Registry::standard().examples().unwrap() {
        let node = graphs[0].nodes().iter().find(|n| n.op.name() == name).unwrap();
        let mut b = Builder::new("test");
        let mut operands = Vec::new();
        for (i, v) in node.inputs.iter().enumerate() {
            let mut ty = graphs[0].ty(*v).clone();
            if let (0, Type::Tensor(t)) = (i, &mut ty) {
                t.dtype = DType::Str;
            }
            operands.push(b.input(&format!("x{i}"), ty).unwrap());
        }
        let error = b.op(node.op.clone(), &operands).expect_err(name);
        assert_eq!(error.code(), Code::OperandDType, "{name}: {error}");
        let first = &error.places()[0];
        assert!(matches!(first, Place::Operand { op, index: 0, .. } if op == name), "{name}: {error}");
    }
}

#[test]
fn activations_refuse_integers_where_the_formula_has_fractions() {
    for name in ["leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "sigmoid", "hard_sigmoid"] {
        refused(name, &["i32[2]"], Code::OperandDType, 0);
    }
    for name in
        ["hard_swish", "softplus", "softsign", "softmax axis=0", "log_softmax axis=0", "mean axes=[0]"]
    {
        refused(name, &["i32[2]"], Code::OperandDType, 0);
    }
    apply("relu", &["i32[2]"]).unwrap();
    refused("relu", &["bool[2]"], Code::OperandDType, 0);
    refused_attribute("celu alpha=0.0", &["f32[2]"], "alpha");
    refused_attribute("softplus beta=-1.0", &["f32[2]"], "beta");
    refused_attribute("gelu form=other", &["f32[2]"], "form");
}

#[test]
fn clip_refuses_bounds_of_another_dtype_or_shape() {
    refused("clip", &["f32[2]", "f64[]", "f32[]"], Code::OperandDType, 1);
    refused("clip", &["f32[2,3]", "f32[]", "f32[2]"], Code::DimMismatch, 2);
    refused("clip", &["f32[2]", "f32[1,2]", "f32[]"], Code::DimMismatch, 1);
}

#[test]
fn prelu_refuses_a_slope_of_another_dtype_or_shape() {
    refused("prelu", &["f32[2,3]", "f32[2]"], Code::DimMismatch, 1);
    refused("prelu", &["f32[3]", "f32[2,3]"], Code::DimMismatch, 1);
    refused("prelu", &["f32[2,3]", "f64[]"], Code::OperandDType, 1);
    refused("prelu", &["i32[2]", "i32[]"], Code::OperandDType, 0);
}

#[test]
fn axes_outside_the_rank_are_refused() {
    refused_attribute("softmax axis=2", &["f32[2,3]"], "axis");
    refused_attribute("softmax axis=0", &["f32[]"], "axis");
    refused_attribute("log_softmax axis=9", &["f32[2,3]"], "axis");
    refused_attribute("logsumexp axes=[0,0]", &["f32[2,3]"], "axes");
    refused_attribute("mean axes=[2]", &["f32[2,3]"], "axes");
    refused_attribute("variance axes=[2]", &["f32[2,3]"], "axes");
    refused_attribute("layer_norm axis=2", &["f32[2,3]"], "axis");
    refused_attribute("rms_norm axis=2", &["f32[2,3]"], "axis");
    refused_attribute("batch_norm axis=2", &["f32[2,3]", "f32[3]", "f32[3]", "f32[3]", "f32[3]"], "axis");
    refused_attribute("argmax axis=2", &["f32[2,3]"], "axis");
    refused_attribute("argmin axis=2", &["f32[2,3]"], "axis");
    refused_attribute("top_k axis=2 k=1", &["f32[2,3]"], "axis");
    refused_attribute("one_hot depth=3 axis=3", &["i64[2,3]"], "axis");
    refused_attribute("cross_entropy axis=2", &["f32[2,3]", "i64[2]"], "axis");
    refused_attribute("quantise to=i8 axis=2", &["f32[2,3]", "f32[3]"], "axis");
}

#[test]
fn linear_names_the_operand_that_does_not_fit() {
    refused("linear", &["f32[2,3]", "f32[4,5]"], Code::DimMismatch, 1);
    refused("linear", &["f32[2,3]", "f32[3]"], Code::OperandRank, 1);
    refused("linear", &["f32[]", "f32[3,4]"], Code::OperandRank, 0);
    refused("linear", &["f32[2,3]", "f64[3,5]"], Code::OperandDType, 1);
    refused("linear", &["f32[2,3]", "f32[3,5]", "f32[3]"], Code::DimMismatch, 2);
    refused("linear layout=out_in", &["f32[2,3]", "f32[3,5]"], Code::DimMismatch, 1);
    refused("linear", &["f32[2,N]", "f32[M,5]"], Code::DimMismatch, 1);
}

#[test]
fn norms_refuse_parameters_that_do_not_fit() {
    refused("layer_norm axis=1", &["f32[2,3]", "f32[2]"], Code::DimMismatch, 1);
    refused("layer_norm axis=1", &["f32[2,3]", "f32[3]", "f16[3]"], Code::OperandDType, 2);
    refused("rms_norm axis=1", &["f32[2,3]", "f32[2,3]"], Code::DimMismatch, 1);
    refused("group_norm groups=2", &["f32[2,3,4]"], Code::DimMismatch, 0);
    refused("group_norm groups=2", &["f32[2,C,4]"], Code::DimMismatch, 0);
    refused_attribute("group_norm groups=0", &["f32[2,3,4]"], "groups");
    refused("group_norm groups=3", &["f32[2,3,4]", "f32[4]"], Code::DimMismatch, 1);
    refused("instance_norm", &["f32[2,3]"], Code::OperandRank, 0);
    refused("instance_norm", &["f32[2,3,4]", "f32[3]", "f32[2]"], Code::DimMismatch, 2);
    refused("batch_norm", &["f32[2,3]", "f32[3]", "f32[3]", "f32[2]", "f32[3]"], Code::DimMismatch, 3);
    refused_attribute("layer_norm axis=1 epsilon=nan", &["f32[2,3]"], "epsilon");
}

#[test]
fn attention_refuses_heads_that_do_not_divide_and_masks_that_do_not_fit() {
    let q = "f32[2,4,3,5]";
    refused("attention", &[q, "f32[2,3,7,5]", "f32[2,3,7,5]"], Code::DimMismatch, 1);
    refused("attention", &[q, "f32[2,4,7,6]", "f32[2,4,7,5]"], Code::DimMismatch, 1);
    refused("attention", &[q, "f32[2,4,7,5]", "f32[2,4,8,5]"], Code::DimMismatch, 2);
    refused("attention", &[q, "f32[1,4,7,5]", "f32[1,4,7,5]"], Code::DimMismatch, 1);
    refused("attention", &[q, "f16[2,4,7,5]", "f16[2,4,7,5]"], Code::OperandDType, 1);
    refused("attention", &["f32[4,3,5]", "f32[2,4,7,5]", "f32[2,4,7,5]"], Code::OperandRank, 0);
    let k = "f32[2,4,7,5]";
    refused("attention", &[q, k, k, "bool[3,5]"], Code::DimMismatch, 3);
    refused("attention", &[q, k, k, "i32[3,7]"], Code::OperandDType, 3);
    refused("attention", &[q, k, k, "f64[3,7]"], Code::OperandDType, 3);
    refused_attribute("attention scale=inf", &[q, k, k], "scale");
}

#[test]
fn pools_refuse_windows_that_do_not_fit_the_rank() {
    for pool in ["max_pool", "avg_pool", "lp_pool"] {
        refused_attribute(&format!("{pool} window=[2,2]"), &["f32[1,2,5]"], "window");
        refused_attribute(&format!("{pool} window=[0]"), &["f32[1,2,5]"], "window");
        refused_attribute(&format!("{pool} window=[2] stride=[1,1]"), &["f32[1,2,5]"], "stride");
        refused_attribute(&format!("{pool} window=[2] dilation=[0]"), &["f32[1,2,5]"], "dilation");
        refused_attribute(&format!("{pool} window=[2] low=[-1]"), &["f32[1,2,5]"], "low");
        refused(&format!("{pool} window=[]"), &["f32[1,2]"], Code::OperandRank, 0);
    }
    refused("avg_pool window=[2]", &["i8[1,2,5]"], Code::OperandDType, 0);
    refused_attribute("lp_pool window=[2] p=0.0", &["f32[1,2,5]"], "p");
    refused_attribute("global_lp_pool p=-1.0", &["f32[1,2,5]"], "p");
    refused("global_max_pool", &["f32[1,2]"], Code::OperandRank, 0);
    refused("global_avg_pool", &["i32[1,2,3]"], Code::OperandDType, 0);
}

#[test]
fn huge_windows_are_errors_and_not_overflows() {
    let huge = i64::MAX;
    for pool in ["max_pool", "avg_pool", "lp_pool"] {
        for ceil in [false, true] {
            let text = format!(
                "{pool} window=[{huge}] stride=[{huge}] dilation=[{huge}] low=[{huge}] high=[{huge}] ceil={ceil}"
            );
            assert!(apply(&text, &["f32[1,2,5]"]).is_err(), "{text}");
        }
    }
    assert!(apply(&format!("one_hot depth={huge}"), &["i64[5]"]).is_err());
    assert!(apply(&format!("quantise to=i8 axis=0 block={huge}"), &["f32[5]", "f32[2]"]).is_err());
    assert!(apply(&format!("variance axes=[0] correction={}", i64::MIN), &["f32[5]"]).is_err());
}

#[test]
fn selections_refuse_what_they_cannot_index() {
    refused("argmax axis=0", &["bool[2]"], Code::OperandDType, 0);
    refused("one_hot depth=3", &["f32[2]"], Code::OperandDType, 0);
    refused_attribute("one_hot depth=-1", &["i64[2]"], "depth");
    refused_attribute("one_hot depth=3 dtype=str", &["i64[2]"], "dtype");
    refused_attribute("top_k axis=0 k=3", &["f32[2]"], "k");
    refused_attribute("top_k axis=0 k=1", &["f32[N]"], "k");
    refused_attribute("nonzero", &["f32[2]"], "symbol");
}

#[test]
fn a_symbol_is_defined_once() {
    let error = apply("nonzero symbol=N", &["f32[N]"]).unwrap_err();
    assert_eq!(error.code(), Code::DuplicateName);
    let mut b = Builder::new("test");
    let x = b.input("x", ty("f32[3]")).unwrap();
    b.op(composite("nonzero symbol=K").unwrap(), &[x]).unwrap();
    let error = b.op(composite("nonzero symbol=K").unwrap(), &[x]).unwrap_err();
    assert_eq!(error.code(), Code::DuplicateName);
}

#[test]
fn losses_refuse_targets_and_weights_that_do_not_fit() {
    refused("cross_entropy", &["f32[2,3]", "i64[3]"], Code::DimMismatch, 1);
    refused("cross_entropy", &["f32[2,3]", "f32[2]"], Code::OperandRank, 1);
    refused("cross_entropy", &["f32[2,3]", "i8[2]"], Code::OperandDType, 1);
    refused("cross_entropy", &["f32[2,3]", "i64[2]", "f32[2]"], Code::DimMismatch, 2);
    refused_attribute("cross_entropy smoothing=1.5", &["f32[2,3]", "i64[2]"], "smoothing");
    refused_attribute("cross_entropy ignore=1", &["f32[2,3]", "f32[2,3]"], "ignore");
    refused_attribute("cross_entropy reduction=other", &["f32[2,3]", "i64[2]"], "reduction");
    refused("nll_loss", &["f32[2,3]", "f32[2]"], Code::OperandDType, 1);
    refused("nll_loss", &["f32[2,3]", "i32[2,3]"], Code::OperandRank, 1);
    refused("mse_loss", &["f32[2,3]", "f32[2,1]"], Code::DimMismatch, 1);
    refused("mse_loss", &["i32[2]", "i32[2]"], Code::OperandDType, 0);
}

#[test]
fn dropout_refuses_a_key_that_is_none_and_a_ratio_outside() {
    refused("dropout", &["f32[2]", "u32[3]"], Code::DimMismatch, 1);
    refused("dropout", &["f32[2]", "i32[2]"], Code::OperandDType, 1);
    refused_attribute("dropout ratio=1.5", &["f32[2]", "u32[2]"], "ratio");
    refused_attribute("dropout ratio=nan", &["f32[2]", "u32[2]"], "ratio");
}

#[test]
fn quantisation_refuses_scales_and_zero_points_that_do_not_fit() {
    refused_attribute("quantise to=f32", &["f32[2]", "f32[]"], "to");
    refused_attribute("quantise to=i8 block=2", &["f32[2]", "f32[]"], "block");
    refused_attribute("quantise to=i8 axis=0 block=0", &["f32[2]", "f32[]"], "block");
    refused("quantise to=i8", &["f32[2]", "f32[2]"], Code::OperandRank, 1);
    refused("quantise to=i8", &["f32[2]", "f64[]"], Code::OperandDType, 1);
    refused("quantise to=i8", &["f32[2]", "f32[]", "u8[]"], Code::OperandDType, 2);
    refused("quantise to=i8 axis=1", &["f32[2,3]", "f32[3]", "i8[2]"], Code::DimMismatch, 2);
    refused("quantise to=f8e5m2", &["f32[2]", "f32[]", "f8e5m2[]"], Code::OperandDType, 2);
    refused("quantise to=i4 axis=1 block=2", &["f32[3,5]", "f32[3,2]"], Code::DimMismatch, 1);
    refused("dequantise", &["f32[2]", "f32[]"], Code::OperandDType, 0);
    refused("dequantise", &["i8[2]", "i8[]"], Code::OperandDType, 1);
    refused("dequantise axis=0", &["i8[2]", "f32[3]"], Code::DimMismatch, 1);
}
