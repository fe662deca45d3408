//! `machine`: what is measured is kept, shown again and forgotten.

use crate::folder::{CHAIN, Folder, cpu_runs, err, out};
use lawson::kernel::machine::Rates;
use lawson::machine::{Kept, model};
use serde_json::Value as Json;
use std::fs;

impl Folder {
    /// Where measurements are kept.
    fn kept(&self) -> Kept {
        Kept::at(self.path("cache/lawson/machine.json"))
    }
}

/// Whether `lawson machine` measures this processor: its loops are machine code.
fn measures() -> bool {
    let missing = lawson::cpu::Isa::Avx2.missing();
    missing.inspect(|missing| println!("not run: this machine has no {missing}")).is_none()
}

#[test]
fn a_measurement_is_kept_shown_again_and_forgotten() {
    if !measures() {
        return;
    }
    let f = Folder::new();
    let (first, code) = f.json(&["machine", "--quick", "--json"]);
    assert_eq!((code, &first["measured_now"]), (0, &Json::Bool(true)));
    for name in ["fma", "copy", "triad"] {
        let [core, team] = [0, 1].map(|i| first["measured"][name][i].as_f64().unwrap());
        assert!(core > 0.0 && team > 0.0, "{name}");
    }
    for name in ["barrier", "launch", "run"] {
        assert!(first["measured"][name].as_f64().unwrap() > 0.0, "{name}");
    }
    assert!(first["estimated"]["fma"][0].as_f64().unwrap() > 0.0);
    // Vectors are counted, not what they would be of another width: no core has three units for them, or 6 GHz.
    assert!(first["measured"]["fma"][0].as_f64().unwrap() < 1.2e10, "{first}");
    assert_eq!(first["model"], model());
    let (second, _) = f.json(&["machine", "--json"]);
    assert_eq!((&second["measured_now"], &second["measured"]), (&Json::Bool(false), &first["measured"]));
    let table = out(&f.run(&["machine"]));
    assert!(table.contains("reading memory") && table.contains("estimate"), "{table}");
    assert_eq!(f.json(&["machine", "--forget", "--json"]).0["forgotten"], true);
    assert_eq!(f.json(&["machine", "--forget", "--json"]).0["forgotten"], false);
    assert!(!f.kept().path().exists());
}

#[test]
fn a_device_is_measured_once_beside_the_processor() {
    let f = Folder::new();
    f.kept().keep("a processor", &Rates::estimate(1e9, 1)).unwrap();
    let (first, code) = f.json(&["machine", "--device", "wgpu", "--json"]);
    assert_eq!((code, &first["measured_now"]), (0, &Json::Bool(true)));
    for name in ["copy", "launch", "submit", "upload", "download"] {
        assert!(first["measured"][name].as_f64().unwrap() > 0.0, "{first}");
    }
    let (second, _) = f.json(&["machine", "--device", "0", "--json"]);
    assert_eq!((&second["measured_now"], &second["measured"]), (&Json::Bool(false), &first["measured"]));
    assert!(f.kept().rates("a processor").unwrap().is_some());
    // Predictions for the device come from it.
    let mut rates = f.kept().device_rates(first["model"].as_str().unwrap()).unwrap().unwrap();
    rates.launch = 1.0;
    f.kept().keep_device(first["model"].as_str().unwrap(), &rates).unwrap();
    f.file("chain.law", CHAIN);
    let args =
        ["bench", "chain.law", "--bind", "N=4", "--seconds", "0", "--target", "wgpu", "--kernels", "--json"];
    let (report, code) = f.json(&args);
    assert_eq!(code, 0, "{report:#}");
    let step = &report["runs"][0]["kernels"]["steps"][0];
    assert!(step["predicted_us"].as_f64().unwrap() >= 1e6, "{step}");
    assert_eq!(f.json(&["machine", "--device", "wgpu", "--forget", "--json"]).0["forgotten"], true);
    assert_eq!(f.json(&["machine", "--device", "wgpu", "--forget", "--json"]).0["forgotten"], false);
    assert_eq!(f.run(&["machine", "--device", "no such device"]).status.code(), Some(1));
}

#[test]
fn a_file_that_is_no_measurement_is_an_error_with_its_place() {
    let f = Folder::new();
    f.kept().keep(&model(), &Rates::estimate(1e9, 1)).unwrap();
    let whole = fs::read_to_string(f.kept().path()).unwrap();
    for damaged in [
        whole[..whole.len() / 2].to_string(),
        whole.replace("\"version\": 1", "\"version\": 99"),
        whole.replace("\"barrier\": ", "\"barrier\": -"),
        "[]".to_string(),
        String::new(),
    ] {
        fs::write(f.kept().path(), &damaged).unwrap();
        let run = f.run(&["machine"]);
        assert_eq!(run.status.code(), Some(1), "{damaged}");
        assert!(
            err(&run).contains("machine.json") && err(&run).contains("--forget")
                || err(&run).contains("anew")
        );
        // What only predicts goes on with estimates.
        f.file("chain.law", CHAIN);
        if cpu_runs() {
            let bench = f.run(&["bench", "chain.law", "--bind", "N=4", "--seconds", "0", "--threads", "1"]);
            assert_eq!(bench.status.code(), Some(0), "{}", err(&bench));
            assert!(err(&bench).contains("estimates"), "{}", err(&bench));
        }
    }
    assert_eq!(f.run(&["machine", "--forget"]).status.code(), Some(0));
    assert!(!f.kept().path().exists());
}

#[test]
fn measurements_of_other_processors_stay() {
    let f = Folder::new();
    f.kept().keep("another", &Rates::estimate(1e9, 1)).unwrap();
    f.kept().keep(&model(), &Rates::estimate(2e9, 1)).unwrap();
    assert_eq!(f.json(&["machine", "--json"]).0["measured"]["fma"][0], 2e9);
    f.run(&["machine", "--forget"]);
    assert_eq!(f.kept().rates("another").unwrap().unwrap().fma.core, 1e9);
    assert_eq!(f.kept().rates(&model()).unwrap(), None);
}

#[test]
fn a_folder_that_cannot_be_written_costs_nothing_but_the_file() {
    if !measures() {
        return;
    }
    let f = Folder::new();
    // A file where the folder should be stops everybody, also who may write everywhere.
    f.file("cache", "not a folder");
    let run = f.run(&["machine", "--quick"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(out(&run).contains("reading L1"), "{}", out(&run));
    assert!(err(&run).contains("machine.json") && err(&run).contains("XDG_CACHE_HOME"), "{}", err(&run));
}
