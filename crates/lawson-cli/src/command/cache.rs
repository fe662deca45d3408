//! `lawson cache`: the compiled pipelines and translated shaders on disk, shown or cleared.

use crate::args::CacheArgs;
use crate::device::cache_folder;
use crate::quantity::bytes;
use crate::report::{Outcome, Reporter};
use lawson::wgpu::cache::files;
use lawson::{Code, Error};
use serde_json::{Value as Json, json};
use std::io::Write;

pub fn run(args: &CacheArgs, reporter: &Reporter, out: &mut dyn Write) -> Outcome {
    let Some(folder) = cache_folder() else {
        return Err(Error::new(Code::Io, "no folder for caches is known")
            .help("set XDG_CACHE_HOME or HOME to an absolute path")
            .into());
    };
    let failed = |e: std::io::Error| Error::new(Code::Io, format!("{}: {e}", folder.display()));
    let found = files(&folder).map_err(failed)?;
    if args.clear {
        for file in &found {
            std::fs::remove_file(&file.path).map_err(failed)?;
        }
    }
    if reporter.json {
        let of = |f: &lawson::wgpu::cache::CacheFile| json!({ "path": f.path.to_string_lossy(), "kind": f.kind.name(), "bytes": f.bytes, "of": f.of });
        let all: Vec<Json> = found.iter().map(of).collect();
        let report = json!({ "folder": folder.to_string_lossy(), "cleared": args.clear, "files": all });
        return Ok(writeln!(out, "{report:#}")?);
    }
    for file in &found {
        let verb = if args.clear { "cleared" } else { file.kind.name() };
        let of = file.of.as_deref().unwrap_or("unreadable");
        writeln!(out, "{verb} {}: {of}, {}", file.path.display(), bytes(file.bytes as f64))?;
    }
    if found.is_empty() {
        writeln!(out, "nothing is kept in {}", folder.display())?;
    }
    Ok(())
}
