//! The command line of the benches, their table and their JSON.
//!
//! `--filter NAME` keeps cases whose name holds NAME, `--quick` takes fewer and shorter blocks, `--threads 1,2` says for
//! which teams, `--json` prints one object a line instead of the table, `--list` only the names.

use crate::Failure;
use crate::case::{Case, Work};
use crate::measure::{Bench, Effort, Timed};
use lawson_cpu::limits::Limit;
use serde_json::json;

/// What the command line asks for.
#[derive(Clone, Debug)]
pub struct Options {
    filters: Vec<String>,
    threads: Vec<usize>,
    effort: Effort,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Table,
    Json,
    List,
}

const FULL: Effort = Effort { blocks: 9, seconds: 0.1 };
const QUICK: Effort = Effort { blocks: 3, seconds: 0.03 };

impl Options {
    /// From the arguments of this process.
    pub fn from_arguments() -> Result<Options, Failure> {
        let mut options =
            Options { filters: Vec::new(), threads: vec![1, 2], effort: FULL, form: Form::Table };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--filter" => options.filters.push(value()?),
                "--threads" => {
                    options.threads = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?;
                }
                "--quick" => options.effort = QUICK,
                "--blocks" => options.effort.blocks = value()?.parse::<usize>()?.max(1),
                "--json" => options.form = Form::Json,
                "--list" => options.form = Form::List,
                // Cargo says this to every bench.
                "--bench" => {}
                other => return Err(format!("there is no option `{other}`; see bench/README.md").into()),
            }
        }
        Ok(options)
    }

    /// Whether a case of this name is wanted.
    pub fn wants(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|f| name.contains(f.as_str()))
    }

    /// Whether only names are wanted.
    pub fn lists(&self) -> bool {
        self.form == Form::List
    }

    /// Whether JSON is wanted.
    pub fn wants_json(&self) -> bool {
        self.form == Form::Json
    }

    /// How many blocks.
    pub fn blocks(&self) -> usize {
        self.effort.blocks
    }

    /// Measures and prints limits.
    pub fn limits(&self, limits: impl Iterator<Item = (String, Limit)>) -> Result<(), Failure> {
        let mut bench = Bench::new(&self.threads, self.effort)?;
        for (name, limit) in limits.filter(|(name, _)| self.wants(name)) {
            let unit = match limit {
                Limit::Dot => "G/s",
                Limit::Fma => "GFLOP/s",
                Limit::Read(_) | Limit::Copy | Limit::Triad => "GB/s",
            };
            let rates = bench.limit(limit)?;
            match self.form {
                Form::List => println!("{name}"),
                Form::Json => println!("{}", json!({ "limit": name, "unit": unit, "by_threads": rates })),
                Form::Table => {
                    let all = rates.iter().map(|(n, r)| format!("{:>10.1} at {n}", r / 1e9));
                    println!("{name:<24} {} {unit}", all.collect::<Vec<_>>().join(","));
                }
            }
        }
        Ok(())
    }

    /// Times cases one after another and prints each as soon as it is done. One that fails, by not compiling or by wrong
    /// results, is told in its line, and all that failed is an error at the end.
    pub fn run(&self, cases: Vec<Case>) -> Result<(), Failure> {
        let cases: Vec<Case> = cases.into_iter().filter(|c| self.wants(&c.name)).collect();
        if self.form == Form::List {
            cases.iter().for_each(|c| println!("{}", c.name));
            return Ok(());
        }
        if cases.is_empty() {
            return Ok(());
        }
        let mut bench = Bench::new(&self.threads, self.effort)?;
        let mut parts: Vec<[Vec<f64>; 2]> = vec![Default::default(); self.threads.len()];
        let mut failed = 0;
        if self.form == Form::Table {
            println!("{}", heading(&self.threads));
        }
        for case in &cases {
            let timed = match bench.time(case) {
                Ok(timed) => timed,
                Err(error) => {
                    failed += 1;
                    match self.form {
                        Form::Json => {
                            println!("{}", json!({ "case": case.name, "error": error.to_string() }))
                        }
                        Form::Table | Form::List => println!("{:<36} | failed: {error}", case.name),
                    }
                    continue;
                }
            };
            for (all, one) in parts.iter_mut().zip(&timed) {
                all[0].extend(one.part);
                all[1].extend(one.best_part);
            }
            match self.form {
                Form::Json => println!("{}", as_json(case, &timed)),
                Form::Table | Form::List => println!("{}", row(case, &timed)),
            }
        }
        if self.form == Form::Table && parts.iter().any(|p| p[0].len() > 1) {
            let mut line = format!("{:<36}", "geometric mean");
            for [part, best] in &parts {
                let mean = |p: &[f64]| 100.0 * (p.iter().map(|x| x.ln()).sum::<f64>() / p.len() as f64).exp();
                line += &format!(" |{:>30.1} %{:>6.1} %{:>7}", mean(part), mean(best), "");
            }
            println!("{line}");
        }
        if failed > 0 { Err(format!("{failed} of {} cases failed", cases.len()).into()) } else { Ok(()) }
    }
}

fn heading(threads: &[usize]) -> String {
    let mut line = format!("{:<36}", "case");
    for n in threads {
        let who = format!("{n} thread{}", if *n == 1 { "" } else { "s" });
        line += &format!(" |{who:>11}{:>12}{:>9}{:>8}{:>7}", "rate", "of limit", "best", "others");
    }
    line
}

fn unit(work: Work) -> &'static str {
    match work {
        Work::Flops(_) => "GF/s",
        Work::Bytes(..) => "GB/s",
        Work::Run => "",
    }
}

fn row(case: &Case, timed: &[Timed]) -> String {
    let mut line = format!("{:<36}", case.name);
    for t in timed {
        let rate = t.rate.map_or(String::new(), |r| format!("{:.1} {}", r / 1e9, unit(case.work)));
        let part = |p: Option<f64>| p.map_or(String::new(), |p| format!("{:.1} %", 100.0 * p));
        let (middle, best) = (part(t.part), part(t.best_part));
        line += &format!(" |{:>11}{rate:>12}{middle:>9}{best:>8}{:>7.2}", duration(t.seconds), t.foreign);
    }
    line
}

/// A time for people.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.2} us", s * 1e6),
        s if s < 1.0 => format!("{:.3} ms", s * 1e3),
        s => format!("{s:.3} s"),
    }
}

fn as_json(case: &Case, timed: &[Timed]) -> serde_json::Value {
    let one = |t: &Timed| {
        json!({
            "threads": t.threads, "seconds": t.seconds, "best_seconds": t.best, "rate": t.rate, "part": t.part,
            "best_part": t.best_part, "foreign": t.foreign,
        })
    };
    let limit = match case.work {
        Work::Flops(_) => "fma".to_string(),
        Work::Bytes(_, limit) => format!("{limit:?}").to_lowercase(),
        Work::Run => "none".to_string(),
    };
    json!({ "case": case.name, "limit": limit, "timed": timed.iter().map(one).collect::<Vec<_>>() })
}
