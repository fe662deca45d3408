//! The example of the README: a picture of a digit goes in, and the digit comes out.
#![allow(clippy::unwrap_used)]

use serde_json::Value as Json;
use std::path::PathBuf;
use std::process::Command;

#[test]
fn digits_are_recognised_on_every_target() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits");
    for target in
        [&["--target", "reference"][..], &["--target", "cpu"], &["--target", "cpu", "--isa", "portable"]]
    {
        for digit in 0..10 {
            let output = Command::new(env!("CARGO_BIN_EXE_lawson"))
                .current_dir(&folder)
                .args(["run", "digits.onnx", "--json", "--input"])
                .arg(format!("{digit}.png"))
                .args(target)
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
            let results: Json = serde_json::from_str(&text).unwrap();
            assert_eq!(
                results["outputs"]["digit"]["elements"],
                serde_json::json!([digit]),
                "{target:?}: {text}"
            );
        }
    }
}
