//! Attention with and without a causal mask: `cargo bench -p lawson-bench --bench attention`.

use lawson_bench::Failure;
use lawson_bench::report::Options;
use lawson_bench::work::attention;

fn main() -> Result<(), Failure> {
    Options::from_arguments()?.run(attention::all())
}
