//! Renders the scene, develops it with and without the chain, and writes both pictures: `lawson-pixels [FOLDER] [cpu|wgpu]`.

use lawson::{Code, CompileOptions, Error, Result, Target};
use lawson_pixels::operators::{Chain, graph};
use lawson_pixels::{SIZE, compile, develop, launches, scene};
use std::path::Path;
use std::time::Instant;

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.first().map_or(".", String::as_str);
    let target = arguments.get(1).map_or("cpu", String::as_str);
    match run(Path::new(folder), target) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}

fn run(folder: &Path, target: &str) -> Result<()> {
    let target = match target {
        "cpu" => Target::Cpu,
        "wgpu" => Target::Wgpu,
        other => {
            return Err(
                Error::new(Code::Usage, format!("there is no target `{other}` here")).help("cpu or wgpu")
            );
        }
    };
    let options = CompileOptions { target, ..CompileOptions::default() };
    let light = scene::render(SIZE.0, SIZE.1);
    println!("{}", graph(Chain::Graded)?);
    for (chain, name) in [(Chain::Plain, "before.png"), (Chain::Graded, "after.png")] {
        let program = compile(chain, &options)?;
        let (kernels, left) = launches(&program).unwrap_or_default();
        let start = Instant::now();
        let bytes = develop(&program, &light, SIZE)?;
        let took = start.elapsed().as_secs_f64() * 1e3;
        let path = folder.join(name);
        let (width, height) = (SIZE.1 as u32, SIZE.0 as u32);
        image::save_buffer(&path, &bytes, width, height, image::ColorType::Rgb8)
            .map_err(|e| Error::new(Code::Io, format!("cannot write {}: {e}", path.display())))?;
        let kernels = if kernels == 1 { "one kernel".to_string() } else { format!("{kernels} kernels") };
        println!("{}: {kernels}, {left} operators left to the host, {took:.1} ms", path.display());
    }
    Ok(())
}
