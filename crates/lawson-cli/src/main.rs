//! The `lawson` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    lawson_cli::main()
}
