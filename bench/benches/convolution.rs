//! Convolutions of ResNet-50 and MobileNetV2: `cargo bench -p lawson-bench --bench convolution`.

use lawson_bench::Failure;
use lawson_bench::report::Options;
use lawson_bench::work::convolution;

fn main() -> Result<(), Failure> {
    Options::from_arguments()?.run(convolution::all())
}
