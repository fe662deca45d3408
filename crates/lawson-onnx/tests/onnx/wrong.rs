//! Models that contradict themselves: each gets an error that says where, what was expected, and what to do.

use crate::model::*;
use lawson_graph::{Code, DType, Error, Graph, HostTensor};
use lawson_onnx::proto::*;
use lawson_onnx::{ImportOptions, from_bytes};

/// `y = -x`, to be made wrong.
fn fine() -> ModelProto {
    model(18, graph(vec![input("x", DType::F32, &["N", "4"])], &[], vec![node("Neg", "x", "y")], "y"))
}

/// What is said of a model after `change`.
fn said(change: impl FnOnce(&mut ModelProto)) -> Error {
    let mut m = fine();
    change(&mut m);
    import(&m).unwrap_err()
}

/// The same for its graph.
fn of_graph(change: impl FnOnce(&mut GraphProto)) -> Error {
    said(|m| change(m.graph.as_mut().unwrap()))
}

/// Fails unless the error says all of this, and something to do.
fn says(error: &Error, parts: &[&str]) {
    let text = error.to_string();
    assert!(parts.iter().all(|p| text.contains(p)), "{text}\ndoes not say all of {parts:?}");
    assert!(error.help_text().is_some(), "{text}\nsays nothing to do");
}

#[test]
fn it_is_fine_before_it_is_changed() {
    assert_eq!(ops(&import(&fine()).unwrap()), ["neg"]);
}

#[test]
fn names_that_nothing_has_are_said_with_the_one_that_may_be_meant() {
    let near = of_graph(|g| g.node.push(node("Add", "x yy", "z")));
    says(&near, &["nothing defines the value `yy`", "node `%z` (`Add`)", "there is `y`, which may be meant"]);
    let far = of_graph(|g| g.node.push(node("Add", "x something_else", "z")));
    says(&far, &["`something_else`", "part of the model may be missing"]);
    let output = of_graph(|g| g.output.push(output("yy")));
    says(&output, &["nothing defines the output `yy`", "graph.output[1]", "`y`"]);
    // Names around a body count, too.
    let body = || graph(vec![], &[], vec![node("Abs", "xx", "b")], "b");
    let inner = of_graph(|g| {
        g.input.push(input("c", DType::Bool, &[]));
        g.node.push(node("If", "c", "z").graph("then_branch", body()).graph("else_branch", body()));
    });
    says(&inner, &["`xx`", "there is `x`", "(`Abs`)", "(`If`)"]);
}

#[test]
fn what_has_no_name_is_said() {
    let input = of_graph(|g| g.input[0].name = None);
    assert!(
        input.to_string().contains("an input has no name") && input.to_string().contains("graph.input[0]")
    );
    let constant = of_graph(|g| g.initializer.push(tensor("", &host(&[1], &[1f32]))));
    assert!(constant.to_string().contains("a constant has no name"), "{constant}");
    assert!(constant.to_string().contains("graph.initializer[0]"), "{constant}");
    says(&of_graph(|g| g.node[0].op_type = None), &["an empty `op_type` of ai.onnx (version 18): node `y`"]);
}

#[test]
fn what_is_there_twice_is_said() {
    let attribute = of_graph(|g| {
        g.node[0] = node("Softmax", "x", "y").int("axis", 0).int("axis", 1);
    });
    says(&attribute, &["the attribute is given twice", "attribute `axis` of `Softmax`"]);
    let constant = of_graph(|g| {
        g.initializer = vec![tensor("c", &host(&[1], &[1f32])), tensor("c", &host(&[1], &[2f32]))];
    });
    says(&constant, &["`c` is defined twice", "graph.initializer[1]"]);
    let input = of_graph(|g| g.input.push(g.input[0].clone()));
    assert!(input.to_string().contains("graph.input[1]"), "{input}");
    let output = of_graph(|g| g.output.push(g.output[0].clone()));
    assert!(output.to_string().contains("graph.output[1]"), "{output}");
    let opset = |version| OperatorSetIdProto { domain: Some("ai.onnx".into()), version: Some(version) };
    let versions = said(|m| m.opset_import.push(opset(11)));
    says(&versions, &["versions 18 and 11 of the operators of ai.onnx at once", "opset_import"]);
    let mut same = fine();
    same.opset_import.push(opset(18));
    assert!(import(&same).is_ok());
}

#[test]
fn operands_that_an_operator_does_not_take_are_refused() {
    let spare = of_graph(|g| g.node[0] = node("MatMul", "x w b", "y"));
    assert!(spare.to_string().contains("`w`"), "{spare}");
    let spare = of_graph(|g| {
        g.initializer = vec![tensor("w", &host(&[4, 4], &[1f32; 16])), tensor("b", &host(&[4], &[1f32; 4]))];
        g.node[0] = node("MatMul", "x w b", "y");
    });
    says(&spare, &["`MatMul` of version 18 is given an operand 2, `b`", "node `%y` (`MatMul`)"]);
    // An empty name is no operand.
    let mut m = fine();
    m.graph.as_mut().unwrap().node[0] = node("Neg", "x - -", "y");
    assert!(import(&m).is_ok());
    says(
        &of_graph(|g| g.node[0] = node("Add", "x", "y")),
        &["`Add` needs operand 1", "the node has 1 operand"],
    );
}

#[test]
fn what_a_model_declares_must_be_what_it_computes() {
    let dtype = of_graph(|g| g.output[0] = input("y", DType::I64, &["N", "4"]));
    says(
        &dtype,
        &["the output `y` is declared as i64, but what the model computes is f32", "type of the output `y`"],
    );
    // Shapes are often those of an earlier form of the model.
    let mut m = fine();
    m.graph.as_mut().unwrap().output[0] = input("y", DType::F32, &["7"]);
    assert!(import(&m).is_ok());
    says(&of_graph(|g| g.output.clear()), &["the model has no outputs", "graph.output"]);
    says(
        &of_graph(|g| g.input[0] = input("x", DType::F32, &["N", "-4"])),
        &["dimension 1 of the input `x` is -4"],
    );
    let mut open = fine();
    open.graph.as_mut().unwrap().input[0] = input("x", DType::F32, &["N", "-1"]);
    assert!(import(&open).is_ok());
}

#[test]
fn attributes_that_contradict_weights_or_are_missing_are_said() {
    let x = || vec![input("x", DType::F32, &["5", "1", "3"])];
    let weights = [("w", host(&[1, 16, 3], &[0f32; 48])), ("r", host(&[1, 16, 4], &[0f32; 64]))];
    let lstm = |size| {
        let node = node("LSTM", "x w r", "y").int("hidden_size", size);
        import_graph(graph(x(), &weights, vec![node], "y"))
    };
    assert!(lstm(4).is_ok());
    let error = lstm(5).unwrap_err().to_string();
    assert!(
        error.contains("`hidden_size` of `LSTM` is 5, but the recurrent weights are [1, 16, 4]"),
        "{error}"
    );
    let pool = import_graph(graph(x(), &[], vec![node("MaxPool", "x", "y")], "y")).unwrap_err();
    assert!(pool.to_string().contains("`MaxPool` has no `kernel_shape`"), "{pool}");
}

/// Tables of pairs of classes grow with the square of what stands in the file.
#[test]
fn classifiers_of_too_many_classes_are_refused() {
    let classifier = |classes: usize, chances: usize| {
        let pairs = classes * (classes - 1) / 2;
        let mut node = node("SVMClassifier", "x", "label scores")
            .ints("classlabels_ints", &(0..classes as i64).collect::<Vec<_>>())
            .ints("vectors_per_class", &vec![1; classes])
            .floats("coefficients", &vec![0.5; classes * (classes - 1)])
            .floats("support_vectors", &vec![0.5; classes * 4])
            .floats("rho", &vec![0.5; pairs])
            .floats("prob_a", &vec![0.5; chances])
            .floats("prob_b", &vec![0.5; chances]);
        node.domain = Some("ai.onnx.ml".into());
        let mut m =
            model(18, graph(vec![input("x", DType::F32, &["N", "4"])], &[], vec![node], "label scores"));
        m.opset_import.push(OperatorSetIdProto { domain: Some("ai.onnx.ml".into()), version: Some(1) });
        import(&m)
    };
    assert!(classifier(5, 10).is_ok());
    says(
        &classifier(400, 0).unwrap_err(),
        &["`SVMClassifier` of 400 classes and 400 vectors", "79800 pairs"],
    );
    says(&classifier(65, 65 * 32).unwrap_err(), &["probabilities of 65 classes; 64 can be coupled"]);
}

#[test]
fn operators_that_are_nearly_known_are_said() {
    let near = of_graph(|g| g.node[0] = node("Soft_max", "x", "y"));
    says(&near, &["`Soft_max` of ai.onnx (version 18), which has `Softmax`: node `y`"]);
}

#[test]
fn constants_say_which_dimension_or_element_type_is_wrong() {
    let constant =
        |t: TensorProto| of_graph(|g| g.initializer.push(TensorProto { name: Some("c".into()), ..t }));
    let typed = |number| TensorProto { data_type: Some(number), dims: vec![2], ..TensorProto::default() };
    says(
        &constant(TensorProto { dims: vec![2, -3], ..typed(1) }),
        &["dimension 1 of the tensor is -3", "tensor `c`"],
    );
    says(&constant(typed(99)), &["99 is not an element type"]);
    assert!(constant(typed(0)).to_string().contains("the element type is not said"));
    // The elements are in a field for another type.
    says(
        &constant(TensorProto { int64_data: vec![1, 2], ..typed(1) }),
        &["8 bytes, but 0 came", "in the field for their type"],
    );
    let short = HostTensor::from_slice(&[2], &[1u8, 2]).unwrap();
    says(
        &constant(TensorProto { raw_data: Some(short.bytes().clone()), ..typed(1) }),
        &["8 bytes, but 2 came", "cut off"],
    );
}

#[test]
fn files_of_other_formats_are_known() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n".as_bytes();
    let safetensors = [&16u64.to_le_bytes()[..], b"{\"__metadata__\":1}    "].concat();
    let cases: [(&[u8], &str); 7] = [
        (pointer, "git lfs pull"),
        (b"PK\x03\x04\x00\x00\x00\x00", "zip archive"),
        (b"\x1f\x8b\x08\x00\x00", "gzip"),
        (b"\x89PNG\r\n\x1a\n", "picture"),
        (b"<!DOCTYPE html>", "download that failed"),
        (b"{\"irVersion\": 9}", "binary form"),
        (&safetensors, "safetensors"),
    ];
    for (bytes, expected) in cases {
        let error = from_bytes(bytes.to_vec(), &ImportOptions::default()).unwrap_err();
        assert_eq!(error.code(), Code::OnnxModel);
        says(&error, &[expected]);
    }
    says(&said(|m| m.ir_version = None), &["does not say its version of the format"]);
    says(&said(|m| m.ir_version = Some(99)), &["version 99 of the format; Lawson reads 3 to 14"]);
    says(&said(|m| m.opset_import.clear()), &["does not say which operator sets"]);
}

#[test]
fn attributes_that_are_none_of_their_values_are_said() {
    let of = |n: NodeProto| of_graph(|g| g.node[0] = n);
    says(&of(node("ReduceSum", "x", "y").int("keepdims", -7)), &["is -7", "attribute `keepdims`", "0 or 1"]);
    says(&of(node("Softmax", "x", "y").int("axis", 5)), &["axis 5 of `Softmax`", "-2 to 1"]);
    let mode = of(node("GridSample", "x x", "y").text("mode", "soft"));
    says(&mode, &["`mode` of `GridSample` is `soft`", "nearest, linear, cubic"]);
    says(&of(node("BitShift", "x x", "y")), &["`direction` of `BitShift`", "LEFT, RIGHT"]);
    let to = of(node("Cast", "x", "y").int("to", i64::MIN));
    says(&to, &["-9223372036854775808 is not an element type"]);
}

#[test]
fn elements_of_a_constant_stand_in_one_place() {
    let both = of_graph(|g| {
        let mut c = tensor("c", &host(&[1], &[1f32]));
        c.raw_data = Some(vec![0, 0, 0, 0].into());
        c.float_data = vec![1.0];
        g.initializer.push(c);
    });
    says(&both, &["at once", "tensor `c`", "graph.initializer[0]"]);
}

#[test]
fn names_of_branches_that_are_never_taken_are_known_too() {
    let never = of_graph(|g| {
        g.initializer.push(tensor("yes", &HostTensor::scalar(true)));
        let then = graph(vec![], &[], vec![node("Abs", "x", "b")], "b");
        let otherwise = graph(vec![], &[], vec![node("Abs", "elsewhere", "b")], "b");
        g.node.push(node("If", "yes", "z").graph("then_branch", then).graph("else_branch", otherwise));
    });
    says(&never, &["nothing defines the value `elsewhere`", "(`Abs`)", "node `%z` (`If`)"]);
}

#[test]
fn errors_inside_functions_say_at_which_of_their_nodes() {
    let inside = said(|m| {
        let opset = |d: &str, v| OperatorSetIdProto { domain: Some(d.into()), version: Some(v) };
        m.opset_import.push(opset("own", 1));
        m.functions.push(FunctionProto {
            name: Some("Twice".into()),
            domain: Some("own".into()),
            input: vec!["a".into()],
            output: vec!["b".into()],
            node: vec![node("Softmax", "a", "b").int("axis", 9)],
            opset_import: vec![opset("", 18)],
            ..FunctionProto::default()
        });
        let mut call = node("Twice", "x", "y");
        call.domain = Some("own".into());
        m.graph.as_mut().unwrap().node[0] = call;
    });
    says(&inside, &["axis 9 of `Softmax`", "node `%b` (`Softmax`) of graph `@Twice`", "node `%y` (`Twice`)"]);
}

#[test]
fn operators_of_another_domain_are_said() {
    let other = of_graph(|g| g.node[0].domain = Some("ai.onnx.ml".into()));
    says(&other, &["`Neg` of ai.onnx.ml", "but of ai.onnx there is one"]);
}

/// What is said of `node` with these operands beside `x`, f32[N, 4].
fn of_node(constants: &[(&str, HostTensor)], node: NodeProto) -> Error {
    import_graph(graph(vec![input("x", DType::F32, &["N", "4"])], constants, vec![node], "y")).unwrap_err()
}

#[test]
fn operands_that_do_not_fit_are_named_as_the_model_names_them() {
    let w = || [("w", host(&[5, 2], &[0f32; 10]))];
    let shapes = of_node(&w(), node("MatMul", "x w", "y"));
    says(&shapes, &["is 5", "is 4", "`MatMul` is given `x`: f32[N, 4] and `w`: f32[5, 2]; mend"]);
    // Fixing an open size helps only where one is part of the matter.
    assert!(!shapes.to_string().contains("--dim"), "{shapes}");
    let open = of_node(&[("s", host(&[2], &[3i64, 5]))], node("Reshape", "x s", "y"));
    says(&open, &["[3, 5] has 15", "`--dim NAME=SIZE`"]);
    let dtypes = of_node(&[("w", host(&[4], &[0i64; 4]))], node("Add", "x w", "y"));
    says(&dtypes, &["f32", "i64", "`w`: i64[4]", "insert a `Cast`"]);
    let ranks = of_node(&[("w", host(&[2], &[0f32; 2]))], node("Concat", "x w", "y").int("axis", 0));
    says(&ranks, &["expected 2 dimensions, found 1", "`w`: f32[2]"]);
    // Long lists are cut, and what is given twice is said once.
    let c = host(&[2, 3], &[0f32; 6]);
    let many: Vec<(String, HostTensor)> = (0..9).map(|i| (format!("c{i}"), c.clone())).collect();
    let mut constants: Vec<(&str, HostTensor)> = many.iter().map(|(n, t)| (n.as_str(), t.clone())).collect();
    constants[8].1 = host(&[2, 4], &[0f32; 8]);
    let names: Vec<&str> = constants.iter().map(|c| c.0).collect();
    let parts = of_node(&constants, node("Concat", &names.join(" "), "y").int("axis", 0));
    says(&parts, &["`c3`: f32[2, 3] and 5 more"]);
    says(&of_node(&[], node("Where", "x x x", "y")), &["`Where` is given `x`: f32[N, 4]; insert a `Cast`"]);
    let many = of_node(&[("s", host(&[1], &[1i64 << 62]))], node("ConstantOfShape", "s", "y"));
    says(&many, &["too large", "no memory holds such a tensor"]);
}

#[test]
fn help_is_about_models_and_not_about_the_text_form() {
    let constants =
        [("i", host(&[3], &[0i64; 3])), ("d", host(&[], &[-3i64])), ("v", host(&[2], &[0f32, 1.0]))];
    let depth = of_node(&constants, node("OneHot", "i d v", "y"));
    says(&depth, &["-3", "mend the attributes or constants"]);
    assert!(!depth.to_string().contains("where"), "{depth}");
}

#[test]
fn what_has_no_remedy_of_its_own_gets_one() {
    says(&of_graph(|g| g.input[0].r#type = None), &["the input `x` has no type", "declare its element type"]);
    says(&of_graph(|g| g.input.push(g.input[0].clone())), &["graph.input[1]", "a name of its own"]);
    let nowhere = of_graph(|g| {
        g.initializer.push(TensorProto {
            name: Some("c".into()),
            dims: vec![1],
            data_type: Some(0),
            ..TensorProto::default()
        });
    });
    says(&nowhere, &["the element type is not said", "export the model anew"]);
}

#[test]
fn branches_that_no_tensor_stands_for_are_said() {
    let both = |then: NodeProto, otherwise: NodeProto| {
        of_graph(|g| {
            g.input.push(input("c", DType::Bool, &[]));
            let (then, otherwise) =
                (graph(vec![], &[], vec![then], "t"), graph(vec![], &[], vec![otherwise], "e"));
            g.node.push(node("If", "c", "z").graph("then_branch", then).graph("else_branch", otherwise));
        })
    };
    let ranks = both(node("Neg", "x", "t"), node("ReduceSum", "x", "e").int("keepdims", 0));
    says(&ranks, &["`z` is f32[N, 4] in one branch of `If` and f32[] in the other", "(`If`)", "`Unsqueeze`"]);
    let dtypes = both(node("Neg", "x", "t"), node("Cast", "x", "e").int("to", 7));
    says(&dtypes, &["f32[N, 4]", "i64[N, 4]", "`Cast`"]);
    let counts = of_graph(|g| {
        g.input.push(input("c", DType::Bool, &[]));
        let (then, otherwise) = (
            graph(vec![], &[], vec![node("Neg", "x", "t")], "t t"),
            graph(vec![], &[], vec![node("Neg", "x", "e")], "e"),
        );
        g.node.push(node("If", "c", "z").graph("then_branch", then).graph("else_branch", otherwise));
    });
    says(&counts, &["give 2 and 1 results"]);
}

#[test]
fn windows_heads_and_blocks_that_do_not_fit_are_said() {
    let picture = || vec![input("x", DType::F32, &["N", "3", "8", "8"])];
    let of = |constants: &[(&str, HostTensor)], n: NodeProto| {
        import_graph(graph(picture(), constants, vec![n], "y"))
    };
    // Where a window is larger by less than its stride, there is no place for it, and the result is empty.
    let kernel = [("w", host(&[2, 3, 10, 1], &[0f32; 60]))];
    says(
        &of(&kernel, node("Conv", "x w", "y")).unwrap_err(),
        &["spans 10 elements of spatial axis 0, which has 8"],
    );
    let shape = |g: &Graph| g.ty(g.outputs()[0].value).to_string();
    let kernel = [("w", host(&[2, 3, 9, 1], &[0f32; 54]))];
    assert_eq!(shape(&of(&kernel, node("Conv", "x w", "y")).unwrap()), "f32[N, 2, 0, 8]");
    assert!(of(&kernel, node("Conv", "x w", "y").ints("pads", &[1, 0, 0, 0])).is_ok());
    let pool = |ceil, size| {
        of(
            &[],
            node("MaxPool", "x", "y")
                .ints("kernel_shape", &[size, size])
                .ints("strides", &[2, 2])
                .int("ceil_mode", ceil),
        )
    };
    says(&pool(0, 11).unwrap_err(), &["a window of `MaxPool` spans 11", "smaller window"]);
    assert_eq!(shape(&pool(0, 9).unwrap()), "f32[N, 3, 0, 0]");
    // The last window may reach beyond the end.
    assert!(pool(1, 9).is_ok());
    let blocks = of(&[], node("DepthToSpace", "x", "y").int("blocksize", 2)).unwrap_err();
    says(&blocks, &["3 channels in blocks of 2 by 2", "a multiple of 4"]);
    let pads = of(&[("p", host(&[2], &[1i64, 1]))], node("Pad", "x p", "y")).unwrap_err();
    says(&pads, &["2 paddings for 4 axes", "it takes 8"]);
    let heads = import(&model(
        23,
        graph(
            vec![input("q", DType::F32, &["1", "4", "8"])],
            &[],
            vec![node("Attention", "q q q", "y").int("q_num_heads", 3).int("kv_num_heads", 3)],
            "y",
        ),
    ));
    says(&heads.unwrap_err(), &["[1, 4, 8] with 3 heads", "a multiple of the heads"]);
    let condition = of_graph(|g| {
        let body = || graph(vec![], &[], vec![node("Abs", "x", "b")], "b");
        g.node.push(node("If", "x", "z").graph("then_branch", body()).graph("else_branch", body()));
    });
    says(&condition, &["the condition of `If` is f32[N, 4]", "one bool"]);
}

#[test]
fn models_that_were_saved_for_one_processor_are_said() {
    let blocked = said(|m| {
        m.opset_import
            .push(OperatorSetIdProto { domain: Some("com.microsoft.nchwc".into()), version: Some(1) });
        m.graph.as_mut().unwrap().node[0] =
            NodeProto { domain: Some("com.microsoft.nchwc".into()), ..node("Conv", "x x", "y") };
    });
    says(&blocked, &["`Conv` of com.microsoft.nchwc (version 1): node `y`", "ORT_ENABLE_EXTENDED"]);
}
