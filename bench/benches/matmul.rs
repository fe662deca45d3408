//! Matrix products: `cargo bench -p lawson-bench --bench matmul`.

use lawson_bench::Failure;
use lawson_bench::report::Options;
use lawson_bench::work::matmul;

fn main() -> Result<(), Failure> {
    let options = Options::from_arguments()?;
    for family in [matmul::square, matmul::shapes, matmul::one_row] {
        options.run(family()?)?;
    }
    Ok(())
}
