//! `lawson bisect`: the first pass after which results leave the oracle's bounds.

use super::pipeline;
use crate::args::BisectArgs;
use crate::report::{BUG, Failure, Outcome, Reporter, error_json};
use crate::{input, load};
use lawson::opt::{Verdict, bisect};
use lawson::{Code, Error};
use serde_json::json;
use std::io::Write;

pub fn run(args: &BisectArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    // Written so that NaN is refused too.
    if args.slack.is_nan() || args.slack < 1.0 {
        return Err(Error::new(Code::Usage, "--slack is at least 1").into());
    }
    if args.trials == 0 {
        return Err(Error::new(Code::Usage, "--trials is at least 1").into());
    }
    let pipeline = pipeline(&args.passes)?;
    let loaded = load::graph(&args.file)?;
    let mut args = BisectInputs { args };
    args.default_to_random(&loaded);
    let options = input::options(args.inputs());
    let (mut compared_in_all, mut undetermined_in_all) = (0, 0);
    for trial in 0..args.args.trials {
        let seed = args.args.input.seed.wrapping_add(trial);
        let (values, _) = input::values(&loaded, args.inputs(), seed)?;
        match bisect(&pipeline, &loaded.graph, &values, &options, args.args.slack)? {
            Verdict::Fine { compared, undetermined, .. } => {
                compared_in_all += compared;
                undetermined_in_all += undetermined;
            }
            found => return report(found, seed, reporter, out),
        }
    }
    Ok(())
}
