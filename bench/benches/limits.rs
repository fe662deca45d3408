//! What this machine can do: `cargo bench -p lawson-bench --bench limits`.

use lawson_bench::Failure;
use lawson_bench::report::Options;
use lawson_cpu::limits::Limit;

fn main() -> Result<(), Failure> {
    let reads = [("L1", 16 << 10), ("L2", 512 << 10), ("L3", 9 << 20), ("main memory", 256 << 20)];
    let reads = reads.map(|(level, bytes)| (format!("read, {level}"), Limit::Read(bytes)));
    let others = [("multiply-add", Limit::Fma), ("non-temporal triad", Limit::Triad)];
    let others = others.map(|(name, limit)| (name.to_string(), limit));
    Options::from_arguments()?.limits(others.into_iter().chain(reads))
}
