//! Operators on single pixels over a picture with more light than a display has: tone mapping, hue, saturation, encoding. Each is a composite
//! of its own (`operators.rs`); together they are one kernel, on a processor and on a device. The picture is traced by `scene.rs`.

pub mod operators;
pub mod scene;

use lawson::kernel::Action;
use lawson::{CompileOptions, Program, Result, Tensor};
use operators::Chain;

/// The size of the picture that is kept beside the code.
pub const SIZE: (usize, usize) = (360, 640);

/// A chain, compiled.
pub fn compile(chain: Chain, options: &CompileOptions) -> Result<Program> {
    Program::compile(operators::graph(chain)?, options)
}

/// How many kernels a program launches, and how many of its operators are in none.
pub fn launches(program: &Program) -> Option<(usize, usize)> {
    let plan = program.plan()?;
    let mut count = 0;
    plan.visit(&mut |step, _| count += usize::from(matches!(step.action, Action::Launch { .. })));
    Some((count, plan.operators().on_host()))
}

/// Runs a program on planes of light; gives the bytes of the picture, pixel by pixel.
pub fn develop(program: &Program, light: &[Vec<f32>; 3], (height, width): (usize, usize)) -> Result<Vec<u8>> {
    let planes = light.iter().map(|p| Tensor::from_slice(&[height, width], p)).collect::<Result<Vec<_>>>()?;
    let results = program.session().run(&planes)?;
    let channels = results.iter().map(Tensor::to_vec::<u8>).collect::<Result<Vec<_>>>()?;
    Ok((0..height * width).flat_map(|i| channels.iter().map(move |c| c[i])).collect())
}
