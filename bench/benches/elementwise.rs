//! Elementwise chains, softmax, layer norm: `cargo bench -p lawson-bench --bench elementwise`.

use lawson_bench::Failure;
use lawson_bench::report::Options;
use lawson_bench::work::elementwise;

fn main() -> Result<(), Failure> {
    Options::from_arguments()?.run(elementwise::all())
}
