//! How long it takes to encode a kernel: `cargo bench -p lawson-cpu --bench asm`.

use std::hint::black_box;
use std::time::Instant;

use lawson_cpu::asm::{
    Alu, Assembler, Cond, Gpr, Inst, Level, Masking, Mem, Scale, Vec2, Vec3, VecSrc, VecStore, Vreg, Width,
};

/// An unrolled matrix kernel: loads, broadcasts, multiply-adds, then stores, `steps` times in a loop.
fn kernel(level: Level, steps: usize) -> usize {
    let width = Width::Z512;
    let mut asm = Assembler::new(level);
    let head = asm.label();
    let mut count = 0;
    let mut push = |asm: &mut Assembler, inst| {
        count += 1;
        asm.push(inst);
    };
    asm.align(64);
    asm.bind(head);
    for step in 0..steps as i64 {
        let a = Mem::base(Gpr::RDI).index(Gpr::RAX, Scale::S4).offset(step * 256);
        for column in 0..4 {
            push(
                &mut asm,
                Inst::vec2(Vec2::Movups, width, Vreg(24 + column), a.offset(64 * i64::from(column))),
            );
        }
        for row in 0..6 {
            let b = Mem::base(Gpr::RSI).offset(step * 24 + 4 * i64::from(row));
            push(&mut asm, Inst::vec2(Vec2::Broadcastss, width, Vreg(28), b));
            for column in 0..4 {
                let (dst, b) = (Vreg(4 * row + column), VecSrc::Reg(Vreg(28)));
                let (op, a, masking) = (Vec3::Fmadd231ps, Vreg(24 + column), Masking::NONE);
                push(&mut asm, Inst::Vec3 { op, width, dst, a, b, masking });
            }
        }
    }
    for tile in 0..24 {
        let dst = Mem::base(Gpr::RDX).offset(64 * i64::from(tile));
        push(&mut asm, Inst::vec_store(VecStore::Movups, width, dst, Vreg(tile)));
    }
    push(&mut asm, Inst::alu(Alu::Sub, Gpr::RCX, 1));
    push(&mut asm, Inst::Jcc { cond: Cond::Ne, to: head });
    push(&mut asm, Inst::RET);
    black_box(asm.finish().map(|code| code.bytes().len())).ok();
    count
}

fn main() {
    let count = kernel(Level::Avx512, 58);
    let mut times: Vec<f64> = (0..2000)
        .map(|_| {
            let start = Instant::now();
            kernel(Level::Avx512, 58);
            start.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let (best, median) = (times[0], times[times.len() / 2]);
    println!(
        "{count} instructions: best {best:.1} us, median {median:.1} us ({:.1} ns each)",
        median * 1e3 / count as f64
    );
}
