//! The example of the README: a picture of a digit goes in, and the digit comes out.

use crate::folder::{Folder, fine};
use serde_json::Value as Json;
use std::path::PathBuf;

#[test]
fn digits_are_recognised_on_every_target() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits");
    for target in
        [&["--target", "reference"][..], &["--target", "cpu"], &["--target", "cpu", "--isa", "portable"]]
    {
        for digit in 0..10 {
            let picture = format!("{digit}.png");
            let args = [&["run", "digits.onnx", "--json", "--input", &picture], target].concat();
            let output = Folder::new().command(&args).current_dir(&folder).output().unwrap();
            let text = fine(&output);
            let results: Json = serde_json::from_str(&text).unwrap();
            assert_eq!(
                results["outputs"]["digit"]["elements"],
                serde_json::json!([digit]),
                "{target:?}: {text}"
            );
        }
    }
}
