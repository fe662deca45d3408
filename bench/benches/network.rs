//! Whole networks and the smallest graph: `cargo bench -p lawson-bench --bench network`.

use lawson_bench::Failure;
use lawson_bench::report::Options;
use lawson_bench::work::network;

fn main() -> Result<(), Failure> {
    let options = Options::from_arguments()?;
    let families = [network::tiny(), network::perceptrons(), network::chains(), network::resnet()?];
    let ran = families.map(|cases| options.run(cases));
    ran.into_iter().collect()
}
