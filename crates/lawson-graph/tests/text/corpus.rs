//! Valid texts that between them use every primitive and every part of the grammar.

use lawson_graph::op::{BinaryKind, CompareKind, UnaryKind};
use lawson_graph::{Graph, Op};

/// A text around a body that has one input `%x` and one output.
fn with_input(input: &str, output: &str, body: &str) -> String {
    format!("lawson 1\ngraph @test(%x: {input}) -> (y: {output}) {{\n  {body}\n  return %y\n}}\n")
}

/// All texts.
pub fn texts() -> Vec<String> {
    let mut texts: Vec<String> = WHOLE.iter().map(|t| t.to_string()).collect();
    for kind in UnaryKind::ALL {
        let ty = if kind.name() == "not" { "i32[N]" } else { "f32[N]" };
        texts.push(with_input(ty, ty, &format!("%y = {} %x", kind.name())));
    }
    for kind in BinaryKind::ALL {
        let int = matches!(kind.name(), "and" | "or" | "xor" | "shl" | "shr" | "floor_div");
        let ty = if int { "i32[N, 2]" } else { "f64[N, 2]" };
        texts.push(with_input(ty, ty, &format!("%y = {} %x, %x", kind.name())));
    }
    for kind in CompareKind::ALL {
        texts.push(with_input("i8[3]", "bool[3]", &format!("%y = {} %x, %x", kind.name())));
    }
    for (input, output, body) in ONE_NODE {
        texts.push(with_input(input, output, body));
    }
    for name in ["sum", "prod", "max", "min", "and", "or"] {
        let ty = if matches!(name, "and" | "or") { "bool" } else { "f32" };
        let reduce = format!("%y = reduce_{name} %x {{axes = [0, 2]}}");
        texts.push(with_input(&format!("{ty}[2, N, 3]"), &format!("{ty}[N]"), &reduce));
        let window = format!(
            "%y = window_{name} %x {{window = [3], stride = [2], dilation = [1], low = [1], high = [0]}}"
        );
        texts.push(with_input(&format!("{ty}[8]"), &format!("{ty}[4]"), &window));
        if ty == "f32" {
            let cumulative =
                format!("%y = cumulative_{name} %x {{axis = 1, exclusive = true, reverse = true}}");
            texts.push(with_input("f32[2, N]", "f32[2, N]", &cumulative));
        }
    }
    for name in ["set", "add", "mul", "min", "max"] {
        let scatter = format!(
            "%i: i64[4, 1] = constant splat 0\n  %u: f32[4, 5] = constant splat 1\n  \
             %y = scatter_{name} %x, %i, %u {{axes = [0]}}"
        );
        texts.push(with_input("f32[3, 5]", "f32[3, 5]", &scatter));
    }
    texts
}

/// The same texts as graphs.
pub fn graphs() -> Vec<Graph> {
    texts().iter().map(|t| Graph::parse(t).unwrap_or_else(|e| panic!("{e}\n{t}"))).collect()
}

#[test]
fn every_primitive_occurs() {
    fn visit(graph: &Graph, names: &mut Vec<String>) {
        for node in graph.nodes() {
            names.push(node.op.name().to_string());
            node.op.subgraphs().iter().for_each(|(_, g)| visit(g, names));
        }
    }
    let mut names = Vec::new();
    graphs().iter().for_each(|g| visit(g, &mut names));
    for primitive in Op::primitive_names().into_iter().chain(["constant"]) {
        assert!(names.iter().any(|n| n == primitive), "no text uses `{primitive}`");
    }
}

/// Input type, output type, body.
const ONE_NODE: &[(&str, &str, &str)] = &[
    ("f32[N]", "i64[N, 3]", "%y = iota {dtype = i64, shape = [N, 3], axis = 1}"),
    ("f32[N, M]", "i64[3]", "%y = dims {dims = [N, 2*M + 1, N % 8]}"),
    (
        "u32[2]",
        "u32[K + 1]",
        "%n: i64[] = constant 5\n  %k = symbol %n {name = K, max = 9}\n  %y = random_bits %x {shape = [K + 1]}",
    ),
    ("bool[N]", "f16[N]", "%a = cast %x {to = f16}\n  %y = select %x, %a, %a"),
    ("f32[4]", "u32[4]", "%y = bitcast %x {to = u32}"),
    ("f32[3]", "f32[2, 3]", "%y = broadcast %x {shape = [2, 3], axes = [1]}"),
    ("f32[2, N]", "f32[2*N]", "%y = reshape %x {shape = [2*N]}"),
    ("str[2, N]", "str[N, 2]", "%y = transpose %x {perm = [1, 0]}"),
    ("f32[8]", "f32[4]", "%y = slice %x {start = [7], size = [4], step = [-2]}"),
    ("f32[8, 2]", "f32[3, 1]", "%s: i64[2] = constant [5, 0]\n  %y = dynamic_slice %x, %s {size = [3, 1]}"),
    (
        "f32[8]",
        "f32[8]",
        "%u: f32[2] = constant [0.5, -1.5]\n  %s: i32[1] = constant [3]\n  %y = update_slice %x, %u, %s",
    ),
    (
        "f32[N]",
        "f32[max(1, 2*N) + 2]",
        "%z: f32[] = constant -inf\n  %y = pad %x, %z {low = [1], high = [2], interior = [1]}",
    ),
    ("f32[N, 2]", "f32[N, 4]", "%y = concat %x, %x {axis = 1}"),
    (
        "f32[N, 784]",
        "f32[N, 10]",
        "%w: f32[784, 10] = constant splat 0.001\n  %y = contract %x, %w {batch = [], sum = [[1, 0]]}",
    ),
    ("i8[3]", "i32[]", "%y = contract %x, %x {batch = [], sum = [[0, 0]], out = i32}"),
    (
        "f32[N, 4, 9, 9]",
        "f32[N, 6, 5, 4]",
        "%w: f32[6, 2, 3, 3] = constant splat 1\n  %y = convolve %x, %w {stride = [2, 2], low = [1, 0], high = [1, 0], \
         input_dilation = [1, 1], kernel_dilation = [1, 1], groups = 2}",
    ),
    ("f32[5, 3]", "f32[2, 7, 3]", "%i: i64[2, 7, 1] = constant splat 1\n  %y = gather %x, %i {axes = [0]}"),
    (
        "f32[5, 3]",
        "f32[5, 2]",
        "%i: i32[5, 2, 1] = constant splat 1\n  %y = gather %x, %i {axes = [1], batch = 1}",
    ),
    ("f32[N]", "f32[N]", "%y = all_reduce %x {group = \"data\", size = 4, reduce = max}"),
    ("f32[N]", "f32[4*N]", "%y = all_gather %x {group = \"data\", size = 4}"),
    ("f32[8]", "f32[2]", "%y = reduce_scatter %x {group = \"model\", size = 4}"),
    ("f32[8, 3]", "f32[2, 12]", "%y = all_to_all %x {group = \"x\", size = 4, to_axis = 1}"),
    ("f32[8]", "f32[8]", "%y = collective_permute %x {group = \"x\", size = 2, pairs = [[0, 1], [1, 0]]}"),
];

/// Texts that are more than one node.
const WHOLE: &[&str] = &[
    "lawson 1 graph @empty() -> () { return }",
    // Names, placements, state, facts, comments.
    r#"lawson 1 // a comment
// another
graph @"odd name"(%x: f32[N, 8] @device("cpu:0"), %"layer.0/Add:0": f32[N, 8], %cache: f32['batch size'],
    %quoted: i8['it\'s'])
  -> (y: f32[N, 8], "0": f32[N, 8], "new state": f32['batch size'] in %cache)
  where N >= 1, N % 8 == 0, 'batch size' <= 4*N, N < 1000, 'it\'s' == N
{
  %0: f32[N, 8] @shard("mesh", [x, _]) = add %x, %"layer.0/Add:0"
  %"0" @device("gpu:1") @shard("a \"mesh\"", ["_", "a b"]) = neg %0
  %17 = abs %"0"
  return %0, %17, %cache
}"#,
    // Several results, results of no use, nodes without results.
    r#"lawson 1
graph @sorting(%k: f32[4, N], %v: i64[4, N]) -> (a: f32[4, N], n: i64[]) {
  %a: f32[4, N], %i: i64[4, N] = sort %k, %v {axis = 0}
  host_call %a {name = "log", results = []}
  %n: i64[], %m: f32[K, 2] = host_call %a {name = "count \"all\"", results = [i64[], f32[K, 2]], defines = [[K, 4*N]], pure_call = true}
  %u = abs %m
  return %a, %n
}"#,
    // Symbols defined at run time.
    r#"lawson 1
graph @runtime(%x: f32[N], %n: i64[]) -> (y: f32[N]) where N >= 3 {
  %k = symbol %n {name = K, max = N}
  %l = symbol %n {name = 'K two', max = 7}
  %i = iota {dtype = f32, shape = [K, 'K two'], axis = 0}
  %y = neg %x
  return %y
}"#,
    // Control flow, nested, with captures and symbols from outside.
    r#"lawson 1
graph @loops(%n: i64[], %x: f32[N, 3], %c: bool[]) -> (r: f32[N, 3], s: f32[3], t: f32[N])
  where N >= 2
{
  %one: i64[] = constant 1
  %r, %x2 = while %n, %x, %one {carried = 2}
    cond(%i: i64[], %a: f32[N, 3], %one: i64[]) {
      %zero: i64[] = constant 0
      %go = gt %i, %zero
      return %go
    }
    body(%i: i64[], %a: f32[N, 3], %one: i64[]) {
      %j = sub %i, %one
      %even = eq %j, %one
      %b = cond %even, %a
        then(%a: f32[N, 3]) { %b = neg %a return %b }
        else(%a: f32[N, 3]) {
          %s: i64[] = constant 4
          %k = symbol %s {name = K, max = 9}
          %t = slice %a {start = [1, 0], size = [N - 1, 3], step = [1, 1]}
          return %a
        }
      return %j, %b
    }
  %zero: f32[3] = constant splat 0
  %s, %t = scan %zero, %x2, %one {carried = 1, scanned = 1, length = N, reverse = true}
    body(%sum: f32[3], %row: f32[3], %one: i64[]) {
      %next = add %sum, %row
      %total = reduce_sum %row {axes = [0]}
      return %next, %total
    }
  return %x2, %s, %t
}"#,
    // Sequences and optionals.
    r#"lawson 1
graph @lists(%a: f32[2, 3], %b: f32[N, 3], %s: seq<f32[?0, 3]; 5; ?0 <= 8>, %o: opt<f32[N]>, %os: opt<seq<i64[]; N>>)
  -> (y: seq<f32[?0, ?1]; 4; ?0 <= N + 2; ?1 <= 3>, e: f32[K, 3], g: f32[N], h: bool[])
{
  %g = opt_get %o
  %l = seq_make %a, %b {ty = seq<f32[?0, ?1]; 4; ?0 <= N + 2; ?1 <= 3>}
  %n = seq_len %l
  %e = seq_at %s, %n {defines = [K]}
  %few = seq_make %e, %g {ty = seq<f32[?0, ?1]; 2; ?0 <= 8; ?1 <= N + 3; rank >= 1>}
  %row = seq_at %few, %n {defines = [A, B], missing = 1}
  %m = seq_insert %l, %a, %n
  %y = seq_erase %m, %n
  %some = opt_some %a
  %none = opt_none {ty = seq<i64[]; 3>}
  %h = opt_has %os
  return %y, %e, %g, %h
}"#,
    // Composites that the text defines, calling one another, with facts.
    r#"lawson 1
composite @halve(%x: f32[M, N]) -> (y: f32[M, N / 2]) where N % 2 == 0 {
  %y = slice %x {start = [0, 0], size = [M, N / 2], step = [1, 1]}
  return %y
}
composite @"twice halved"(%x: f32[M, N]) -> (a: f32[M, N / 4], b: f32[M, N / 2]) where N % 4 == 0, (N / 2) % 2 == 0 {
  %h = halve %x
  %q = @halve %h
  return %q, %h
}
graph @main(%x: f32[3, 4*K]) -> (y: f32[3, K], z: f32[3, 2*K]) {
  %y, %z = @"twice halved" %x
  return %y, %z
}"#,
    // A sub-graph that says everything that differs from the custom.
    r#"lawson 1
graph @odd(%c: bool[], %x: f32[N]) -> (y: f32[N]) where N >= 4 {
  %y = cond %c, %x
    then @"my branch"(%x: f32[N]) -> (first: f32[N]) where N >= 2 { return %x }
    else(%x: f32[N]) where true { return %x }
  return %y
}"#,
    // Types written in another way than inference would write them.
    r#"lawson 1
graph @written(%x: f32[N], %y: f32[M]) -> (z: f32[M]) where N == M {
  %z: f32[M] = add %x, %y
  %w: f32[N] = neg %z
  return %w
}"#,
];
