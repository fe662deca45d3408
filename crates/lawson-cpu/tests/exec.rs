//! Generated code runs, beside other code, on many threads.
#![cfg(all(unix, target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, unsafe_code)]

use lawson_cpu::asm::*;
use lawson_cpu::exec::CodeBuilder;

/// Stores `arguments[0] * factor` to `arguments[1]`, through a constant after the code.
fn times(factor: u64) -> Code {
    let mut asm = Assembler::new(Level::Avx2);
    let constant = asm.constant(factor);
    asm.push(Inst::load(Gpr::RAX, Mem::constant(constant)));
    asm.push(Inst::Imul { size: Size::Q64, dst: Gpr::RAX, src: Mem::base(Gpr::RDI).into() });
    asm.push(Inst::load(Gpr::RCX, Mem::base(Gpr::RDI).offset(8)));
    asm.push(Inst::store(Mem::base(Gpr::RCX), Gpr::RAX));
    asm.push(Inst::RET);
    asm.finish().unwrap()
}

/// Stores the sum of the `arguments[1]` numbers at `arguments[0]` to `arguments[2]`; needs at least one.
fn sum() -> Code {
    let mut asm = Assembler::new(Level::Avx2);
    let (array, count, total) = (Gpr::RSI, Gpr::RCX, Gpr::RAX);
    asm.push(Inst::load(array, Mem::base(Gpr::RDI)));
    asm.push(Inst::load(count, Mem::base(Gpr::RDI).offset(8)));
    asm.push(Inst::MovImm { dst: total, imm: 0 });
    let head = asm.label();
    asm.align(32);
    asm.bind(head);
    asm.push(Inst::alu(Alu::Add, total, Mem::base(array).index(count, Scale::S8).offset(-8)));
    asm.push(Inst::alu(Alu::Sub, count, 1));
    asm.push(Inst::Jcc { cond: Cond::Ne, to: head });
    asm.push(Inst::load(Gpr::RDX, Mem::base(Gpr::RDI).offset(16)));
    asm.push(Inst::store(Mem::base(Gpr::RDX), total));
    asm.push(Inst::RET);
    asm.finish().unwrap()
}

#[test]
fn pieces_of_code_run_side_by_side() {
    let mut builder = CodeBuilder::new();
    let factors: Vec<u64> = (1..200).collect();
    let entries: Vec<_> = factors.iter().map(|&factor| builder.add(&times(factor))).collect();
    let sum = builder.add(&sum());
    assert!(builder.len() > 4096, "more than a page");
    let memory = builder.finish().unwrap();
    for (&factor, &entry) in factors.iter().zip(&entries) {
        let mut result = 0u64;
        let arguments = [7, &raw mut result as u64];
        // SAFETY: the code was assembled for these arguments.
        unsafe { memory.kernel(entry).unwrap()(arguments.as_ptr(), 0, 0, std::ptr::null_mut()) };
        assert_eq!(result, 7 * factor);
    }
    let mut total = 0u64;
    let arguments = [factors.as_ptr() as u64, factors.len() as u64, &raw mut total as u64];
    // SAFETY: as above.
    unsafe { memory.kernel(sum).unwrap()(arguments.as_ptr(), 0, 0, std::ptr::null_mut()) };
    assert_eq!(total, factors.iter().sum::<u64>());
}

/// `y[i] = 2 * x[i] + y[i]` for `arguments[2]` floats (1 to 16) at `x = arguments[0]` and `y = arguments[1]`.
fn axpy() -> Code {
    let (width, mask) = (Width::Z512, Mask(1));
    let mut asm = Assembler::new(Level::Avx512);
    let two = asm.constant(2.0f32);
    let lanes: [i32; 16] = std::array::from_fn(|lane| lane as i32);
    let lanes = asm.constant(lanes);
    let (x, y, count) = (Gpr::RSI, Gpr::RDX, Gpr::RCX);
    for (index, register) in [x, y, count].into_iter().enumerate() {
        asm.push(Inst::load(register, Mem::base(Gpr::RDI).offset(8 * index as i64)));
    }
    asm.push(Inst::BroadcastGpr {
        op: BroadcastGpr::Pbroadcastd,
        width,
        dst: Vreg(31),
        src: count,
        masking: Masking::NONE,
    });
    // Lane < count, read the other way around: count > lane.
    asm.push(Inst::CmpInt {
        op: CmpInt::Pcmpd,
        width,
        dst: mask,
        a: Vreg(31),
        b: Mem::constant(lanes).into(),
        predicate: IntPredicate::Gt,
        mask: Mask::K0,
    });
    let masking = Masking::zero(mask);
    for (dst, src) in [(Vreg(20), x), (Vreg(3), y)] {
        asm.push(Inst::Vec2 { op: Vec2::Movups, width, dst, src: Mem::base(src).into(), masking });
    }
    let b = VecSrc::Broadcast(Mem::constant(two));
    asm.push(Inst::Vec3 { op: Vec3::Fmadd132ps, width, dst: Vreg(20), a: Vreg(3), b, masking });
    let (dst, masking) = (Mem::base(y).into(), Masking::keep(mask));
    asm.push(Inst::VecStore { op: VecStore::Movups, width, dst, src: Vreg(20), masking });
    asm.push(Inst::Plain(Plain::Vzeroupper));
    asm.push(Inst::RET);
    asm.finish().unwrap()
}

#[test]
fn masks_broadcasts_and_constants_work_where_the_machine_has_them() {
    if !is_x86_feature_detected!("avx512f") {
        return;
    }
    let mut builder = CodeBuilder::new();
    let entry = builder.add(&axpy());
    let memory = builder.finish().unwrap();
    for count in 1..=16 {
        let x: Vec<f32> = (0..count).map(|item| item as f32).collect();
        let mut y = [1f32; 16];
        let arguments = [x.as_ptr() as u64, y.as_mut_ptr() as u64, count];
        // SAFETY: the code was assembled for these arguments, and the machine has its instructions.
        unsafe { memory.kernel(entry).unwrap()(arguments.as_ptr(), 0, 0, std::ptr::null_mut()) };
        let expected: [f32; 16] =
            std::array::from_fn(|item| if (item as u64) < count { 2.0 * item as f32 + 1.0 } else { 1.0 });
        assert_eq!(y, expected);
    }
}

#[test]
fn many_threads_run_one_piece_of_code() {
    let mut builder = CodeBuilder::new();
    let entry = builder.add(&times(3));
    let memory = builder.finish().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4u64 {
            let memory = &memory;
            scope.spawn(move || {
                for round in 0..1000 {
                    let mut result = 0u64;
                    let arguments = [thread * round, &raw mut result as u64];
                    // SAFETY: the code was assembled for these arguments.
                    unsafe { memory.kernel(entry).unwrap()(arguments.as_ptr(), 0, 0, std::ptr::null_mut()) };
                    assert_eq!(result, 3 * thread * round);
                }
            });
        }
    });
}

#[test]
fn memory_without_code_is_fine_and_has_no_entries() {
    let memory = CodeBuilder::new().finish().unwrap();
    assert!(memory.bytes().is_empty());
    let elsewhere = CodeBuilder::new().add(&times(1));
    assert!(memory.kernel(elsewhere).is_none());
}

#[test]
#[cfg(target_os = "linux")]
fn pages_are_never_writable_and_executable() {
    let mut builder = CodeBuilder::new();
    let entry = builder.add(&times(1));
    let memory = builder.finish().unwrap();
    let address = memory.address(entry).unwrap() as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let permissions = maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let from = usize::from_str_radix(from, 16).ok()?;
        let to = usize::from_str_radix(to, 16).ok()?;
        (from..to).contains(&address).then(|| rest[..4].to_string())
    });
    assert_eq!(permissions.as_deref(), Some("r-xp"));
}
