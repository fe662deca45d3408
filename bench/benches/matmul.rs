//! Matrix products: `cargo bench -p lawson-bench --bench matmul`.

use lawson_bench::Failure;
use lawson_bench::report::Options;
use lawson_bench::work::matmul;

fn main() -> Result<(), Failure> {
    let options = Options::from_arguments()?;
    let families = [matmul::square(), matmul::shapes(), matmul::one_row()];
    let ran = families.map(|cases| options.run(cases));
    ran.into_iter().collect()
}
