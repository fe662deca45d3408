//! Products as matrices, on a device that need not have any: what the shaders say is written out for each member of 32, which has eight
//! elements of a matrix of sums. So op codes and indices are checked everywhere; whether a device multiplies rightly is seen on that device
//! (`probe.rs`).

use super::*;
use crate::device::Device;
use crate::gpu::Gpu;
use crate::opcode::Listing;
use crate::wgsl;
use lawson_graph::random::{Elements, Rng, complete_bindings, random_inputs};
use lawson_graph::{Bindings, Graph, HostTensor, Symbol, Value, interp};
use lawson_kernel::Group;
use lawson_kernel::lower::{Lowered, Options, lower_with};
use lawson_opt::Pipeline;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The device, as if it had matrices, converting floats of 16 bits by itself or not.
fn gpu(halves: bool) -> &'static Gpu {
    static GPUS: OnceLock<[Gpu; 2]> = OnceLock::new();
    let gpus = GPUS.get_or_init(|| {
        let gpu = Device::preferred().and_then(|d| Gpu::on(&d)).unwrap_or_else(|e| panic!("{e}"));
        let known = Capabilities { max_iterations: None, ..*gpu.capabilities() };
        [false, true].map(|halves| {
            let known = Capabilities { matrices: true, halves, subgroup: Some(SUBGROUP), ..known };
            gpu.clone().with_capabilities(known)
        })
    });
    &gpus[usize::from(halves)]
}

/// What stands between two texts.
fn between<'t>(line: &'t str, begin: &str, end: &str) -> &'t str {
    let from = line.find(begin).unwrap() + begin.len();
    &line[from..from + line[from..].find(end).unwrap()]
}

/// A factor in memory: the name of the array, fours from line to line, and whether lines are rows.
struct Factor {
    array: String,
    line: usize,
    rows: bool,
}

impl Factor {
    fn parse(line: &str) -> Factor {
        let end = line.rfind(", ").unwrap();
        Factor {
            array: between(line, "(&", "[").to_string(),
            line: line[end + 2..].trim_end_matches("u);").parse().unwrap(),
            rows: line.contains("coopLoadT"),
        }
    }

    fn element(&self, matrix: &str, row: &str, column: &str) -> String {
        let (slow, fast) = if self.rows { (row, column) } else { (column, row) };
        let at = format!("({slow} * {} + {fast})", 4 * self.line);
        format!("f32({}[{matrix} + {at} / 4][{at} % 4])", self.array)
    }
}

/// The index in `array[index]`.
fn index(line: &str) -> &str {
    let (from, to) = (line.find('[').unwrap() + 1, line.rfind("], ").unwrap());
    &line[from..to]
}

/// A shader with matrices as one without.
fn written_out(text: &str) -> String {
    let (mut out, mut factors) = (String::new(), BTreeMap::new());
    for line in text.lines() {
        let (word, rest) = (line.trim(), line.trim().split_once(' ').map_or("", |(_, rest)| rest));
        let own = "let at = (lane % 32) * 8 + e; let r = at / 16; let c = at % 16;";
        if word.starts_with("enable wgpu_") {
            continue;
        } else if word.contains(">()") && word.contains("coop_mat") {
            out += &format!("var {} = array<f32, 8>();\n", between(word, "var ", ":"));
        } else if word.contains("= coopLoad") {
            let matrix = rest.split(' ').next().unwrap().to_string();
            out += &format!("let {matrix} = {};\n", index(word));
            factors.insert(matrix, Factor::parse(word));
        } else if word.contains("coopMultiplyAdd") {
            let operands: Vec<&str> = between(word, "(", ")").split(", ").collect();
            let [a, b, sums] = operands[..] else { panic!("{word}") };
            let (x, y) = (factors[a].element(a, "r", "k"), factors[b].element(b, "k", "c"));
            out += &format!("for (var e = 0; e < 8; e++) {{ {own}\n");
            out += &format!("for (var k = 0; k < 16; k++) {{ {sums}[e] = fma({x}, {y}, {sums}[e]); }} }}\n");
        } else if word.starts_with("coopStoreT") {
            let (sums, array) = (between(word, "(", ","), between(word, "&", "["));
            let four = (0..4).map(|n| format!("{sums}[e + {n}]")).collect::<Vec<_>>().join(", ");
            out += &format!("for (var e = 0; e < 8; e += 4) {{ {own}\n");
            out += &format!("{array}[{} + at / 4] = vec4<f32>({four}); }}\n", index(word));
        } else {
            out += line;
            out.push('\n');
        }
    }
    out
}

fn lowered(text: &str) -> (Graph, Lowered) {
    let graph = Graph::parse(&format!("lawson 1\n{text}")).unwrap_or_else(|e| panic!("{e}"));
    let graph = Pipeline::standard().run(&graph).unwrap();
    let group = Group::whole(&graph).unwrap();
    let mut lowered =
        lower_with(&graph, &group, &Options::default()).unwrap_or_else(|e| panic!("{e}\n{graph}"));
    let machine = crate::machine_for(gpu(true).capabilities());
    lawson_kernel::choose::choose(&mut lowered.kernel, &machine, &lawson_kernel::choose::Freedom::default())
        .unwrap();
    (graph, lowered)
}

/// Runs a graph of one kernel by matrices, with these sizes of `N`, against the oracle; gives its op codes.
fn check(text: &str, sizes: &[i64]) -> String {
    check_on(gpu(true), text, sizes)
}

fn check_on(gpu: &Gpu, text: &str, sizes: &[i64]) -> String {
    let (graph, lowered) = lowered(text);
    let listing = Listing::of(&lowered.kernel, gpu.capabilities()).unwrap();
    let shader = wgsl::text(&listing);
    assert!(shader.contains("coopMultiplyAdd"), "{}\n{listing}", lowered.kernel);
    crate::spirv::Shader::read(&shader).unwrap_or_else(|e| panic!("{e}\n{shader}"));
    let compiled = gpu.compile_text(&lowered.kernel, &listing, &written_out(&shader));
    let compiled = compiled.unwrap_or_else(|e| panic!("{e}\n{}", written_out(&shader)));
    let mut rng = Rng::new(7);
    let runs = sizes.iter().flat_map(|n| [(*n, Elements::Tame), (*n, Elements::Wild)]);
    for (size, elements) in runs {
        let mut known = Bindings::new();
        known.define(Symbol::new("N"), size, "the test");
        let bindings = complete_bindings(&mut rng, &graph, &known, 6).unwrap();
        let symbols: Vec<(Symbol, i64)> = bindings.iter().map(|(s, v)| (s.clone(), v)).collect();
        let inputs = random_inputs(&mut rng, &graph, &bindings, elements).unwrap();
        let options = interp::Options { flushes: gpu.capabilities().flushes, ..interp::Options::default() };
        let expected = interp::run_bounded(&graph, &inputs, &options).unwrap();
        let mut buffers: Vec<Vec<u8>> = Vec::new();
        for (i, v) in lowered.inputs.iter().enumerate() {
            let given = || graph.inputs().iter().position(|p| p == v).and_then(|p| inputs[p].as_tensor());
            buffers.push(lowered.constant(&graph, i).or_else(given).unwrap().bytes().to_vec());
        }
        let ty = graph.ty(graph.outputs()[0].value).as_tensor().unwrap();
        let shape = bindings.eval_shape(&ty.shape).unwrap();
        buffers.push(vec![0xa5; ty.dtype.bytes_for(shape.iter().product()).unwrap()]);
        gpu.run(&compiled, &symbols, &mut buffers).unwrap_or_else(|e| panic!("{e}"));
        let found: Value = HostTensor::from_bytes(ty.dtype, &shape, buffers.pop().unwrap()).unwrap().into();
        let found = interp::compare(&expected[0], &found, 1.0);
        assert!(found.ok(), "{elements:?}: {found}\n{graph}\n{listing}");
    }
    listing.to_string()
}

/// A product of factors that lie in this way, with a bias and a ReLU.
fn product(m: &str, n: &str, k: &str, turned: [bool; 2]) -> String {
    let shape = |turned: bool, rows: &str, columns: &str| match turned {
        true => format!("f16[{columns}, {rows}]"),
        false => format!("f16[{rows}, {columns}]"),
    };
    let (x, w) = (shape(turned[0], m, k), shape(turned[1], k, n));
    let sum = [if turned[0] { 0 } else { 1 }, if turned[1] { 1 } else { 0 }];
    format!(
        "graph @g(%x: {x}, %w: {w}, %b: f16[{n}]) -> (y: f16[{m}, {n}]) {{
           %p = contract %x, %w {{batch = [], sum = [[{}, {}]]}}
           %c = broadcast %b {{shape = [{m}, {n}], axes = [1]}}
           %s = add %p, %c
           %y = relu %s
           return %y
         }}",
        sum[0], sum[1]
    )
}

#[test]
fn factors_lie_any_way_and_are_moved_as_they_are() {
    for turned in [[false, false], [true, false], [false, true], [true, true]] {
        let codes = check(&product("96", "64", "80", turned), &[1]);
        assert_eq!(codes.matches("= halves ").count(), 2 * codes.matches("halves h").count(), "{codes}");
        assert!(codes.contains("store quad"), "{codes}");
        assert!(!codes.contains("store y["), "{codes}");
    }
    let codes = check_on(gpu(false), &product("96", "64", "80", [false, true]), &[1]);
    assert!(codes.contains("y: f16 in quads, write"), "{codes}");
}

#[test]
fn rows_columns_and_sums_end_anywhere() {
    for (m, n, k, turned) in [
        ("50", "36", "20", [false, false]),
        ("33", "34", "35", [true, true]),
        ("129", "68", "7", [false, true]),
        ("16", "200", "4", [true, false]),
    ] {
        check(&product(m, n, k, turned), &[1]);
    }
    check(&product("N", "48", "64", [false, false]), &[1, 31, 70]);
}

#[test]
fn large_results_have_large_tiles() {
    let by = |n: &str, memory: u32| {
        let capabilities = Capabilities { workgroup_memory: memory, ..*gpu(true).capabilities() };
        let kernel = lowered(&product(n, n, "64", [false, false])).1.kernel;
        Listing::of(&kernel, &capabilities).unwrap().to_string()
    };
    assert!(by("1024", 32 << 10).contains("rows from 0 to 1024 by 64"));
    assert!(by("256", 32 << 10).contains("rows from 0 to 256 by 32"));
    assert!(by("1024", 16 << 10).contains("rows from 0 to 1024 by 32"));
}

#[test]
fn factors_are_computed_and_results_are_fused() {
    check(
        "graph @g(%x: f16[40, 64], %w: f16[64, 72], %r: f16[40, 72]) -> (y: f32[40, 72]) {
           %a = neg %x
           %p = contract %a, %w {batch = [], sum = [[1, 0]]}
           %s = add %p, %r
           %y = cast %s {to = f32}
           return %y
         }",
        &[1],
    );
    check(
        "graph @g(%x: f16[3, 40, 32], %w: f16[3, 48, 32]) -> (y: f16[3, 40, 48]) {
           %p = contract %x, %w {batch = [[0, 0]], sum = [[2, 2]]}
           %y = neg %p
           return %y
         }",
        &[1],
    );
}

#[test]
fn other_numbers_and_other_devices_have_no_matrices() {
    let f32s = product("96", "64", "80", [false, false]).replace("f16", "f32");
    for (text, capabilities) in [
        (f32s, *gpu(true).capabilities()),
        (
            product("96", "64", "80", [false, false]),
            Capabilities { matrices: false, ..*gpu(true).capabilities() },
        ),
        (
            product("96", "64", "80", [false, false]),
            Capabilities { subgroup: None, ..*gpu(true).capabilities() },
        ),
    ] {
        let listing = Listing::of(&lowered(&text).1.kernel, &capabilities).unwrap();
        assert!(!wgsl::text(&listing).contains("coop"), "{listing}");
    }
}
