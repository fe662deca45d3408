//! What the assembler refuses, and what it says then.

use lawson_cpu::asm::*;

const Z: Width = Width::Z512;

fn refused(level: Level, inst: Inst) -> Problem {
    let mut asm = Assembler::new(level);
    asm.push(Inst::RET);
    asm.push(inst);
    asm.push(Inst::RET);
    match asm.finish() {
        Err(AsmError::Inst { index: 1, inst: named, problem }) if named == inst => problem,
        Err(other) => panic!("{inst}: {other}"),
        Ok(_) => panic!("{inst} was accepted"),
    }
}

fn add(a: Vreg, b: impl Into<VecSrc>, masking: Masking) -> Inst {
    Inst::Vec3 { op: Vec3::Addps, width: Z, dst: Vreg(1), a, b: b.into(), masking }
}

#[test]
fn zeroing_needs_a_mask() {
    let masking = Masking::zero(Mask::K0);
    assert_eq!(refused(Level::Avx512, add(Vreg(2), Vreg(3), masking)), Problem::ZeroingWithoutMask);
}

#[test]
fn memory_is_never_zeroed_by_a_mask() {
    let (dst, masking) = (VecDst::Mem(Mem::base(Gpr::RAX)), Masking::zero(Mask(1)));
    let inst = Inst::VecStore { op: VecStore::Movups, width: Z, dst, src: Vreg(0), masking };
    assert_eq!(refused(Level::Avx512, inst), Problem::ZeroingMemory);
}

#[test]
fn the_stack_pointer_is_no_index() {
    let mem = Mem::base(Gpr::RAX).index(Gpr::RSP, Scale::S4);
    assert_eq!(refused(Level::Avx512, add(Vreg(2), mem, Masking::NONE)), Problem::IndexIsStackPointer);
    assert_eq!(refused(Level::Avx2, Inst::Lea { dst: Gpr::RAX, src: mem }), Problem::IndexIsStackPointer);
}

#[test]
fn displacements_fit_32_bits() {
    let far = Mem::base(Gpr::RAX).offset(1 << 31);
    assert_eq!(refused(Level::Avx512, add(Vreg(2), far, Masking::NONE)), Problem::Displacement(1 << 31));
    let back = Mem::base(Gpr::RAX).offset(i64::MIN).offset(-1);
    assert_eq!(refused(Level::Avx2, Inst::load(Gpr::RAX, back)), Problem::Displacement(i64::MIN));
}

#[test]
fn registers_exist() {
    assert_eq!(refused(Level::Avx512, add(Vreg(32), Vreg(0), Masking::NONE)), Problem::Register);
    assert_eq!(refused(Level::Avx512, add(Vreg(0), Vreg(32), Masking::NONE)), Problem::Register);
    assert_eq!(refused(Level::Avx512, add(Vreg(0), Vreg(0), Masking::keep(Mask(8)))), Problem::Register);
    assert_eq!(refused(Level::Avx512, Inst::mov(Gpr(16), Gpr::RAX)), Problem::Register);
    assert_eq!(refused(Level::Avx512, Inst::load(Gpr::RAX, Mem::base(Gpr(16)))), Problem::Register);
    assert_eq!(refused(Level::Avx512, Inst::Push { src: Gpr(255) }), Problem::Register);
    assert_eq!(refused(Level::Avx512, Inst::MovImm { dst: Gpr(16), imm: u64::MAX / 3 }), Problem::Register);
    let not = Inst::MaskNot { size: MaskSize::W16, dst: Mask(8), src: Mask(1) };
    assert_eq!(refused(Level::Avx512, not), Problem::Register);
}

#[test]
fn gathers_need_a_mask_and_distinct_registers() {
    let src = Vsib { base: Gpr::RAX, index: Vreg(5), scale: Scale::S4, disp: 0 };
    let gather = |dst, mask| Inst::Gather { op: Gather::Gatherdps, width: Z, dst, src, mask };
    assert_eq!(refused(Level::Avx512, gather(Vreg(4), Mask::K0)), Problem::MaskRequired);
    assert_eq!(refused(Level::Avx512, gather(Vreg(5), Mask(1))), Problem::GatherOverlap);
}

#[test]
fn operands_are_of_the_kind_an_instruction_has() {
    let mem = Mem::base(Gpr::RAX);
    let nt = Inst::vec_store(VecStore::Movntps, Z, Vreg(1), Vreg(2));
    assert_eq!(refused(Level::Avx512, nt), Problem::NeedsMemory);
    let masked = Inst::VecStore {
        op: VecStore::Movntps,
        width: Z,
        dst: mem.into(),
        src: Vreg(2),
        masking: Masking::keep(Mask(1)),
    };
    assert_eq!(refused(Level::Avx512, masked), Problem::NotMaskable);
    let broadcast = Inst::vec2(Vec2::Movups, Z, Vreg(1), VecSrc::Broadcast(mem));
    assert_eq!(refused(Level::Avx512, broadcast), Problem::NoBroadcast);
    let narrow = Inst::vec3(Vec3::Permps, Width::X128, Vreg(1), Vreg(2), Vreg(3));
    assert_eq!(refused(Level::Avx512, narrow), Problem::Width);
    assert_eq!(refused(Level::Avx512, Inst::Nop { bytes: 10 }), Problem::NopLength);
    assert_eq!(refused(Level::Avx512, Inst::Nop { bytes: 0 }), Problem::NopLength);
}

#[test]
fn avx2_has_neither_masks_nor_zmm_nor_upper_registers() {
    let y = |dst, b: VecSrc| Inst::vec3(Vec3::Addps, Width::Y256, dst, Vreg(1), b);
    let reg = VecSrc::Reg(Vreg(2));
    assert_eq!(refused(Level::Avx2, y(Vreg(16), reg)), Problem::Level);
    assert_eq!(refused(Level::Avx2, y(Vreg(0), VecSrc::Broadcast(Mem::base(Gpr::RAX)))), Problem::Level);
    assert_eq!(refused(Level::Avx2, add(Vreg(0), reg, Masking::NONE)), Problem::Level);
    let not = Inst::MaskNot { size: MaskSize::W16, dst: Mask(1), src: Mask(1) };
    assert_eq!(refused(Level::Avx2, not), Problem::Level);
    let ternary = Inst::vec3_imm(Vec3Imm::Pternlogd, Width::Y256, Vreg(0), Vreg(1), Vreg(2), 0);
    assert_eq!(refused(Level::Avx2, ternary), Problem::Level);
    let (op, width, predicate) = (CmpFloat::Cmpps, Width::Y256, FloatPredicate::LtOs);
    let mask = Mask::K0;
    let compare = Inst::CmpFloat { op, width, dst: Mask(1), a: Vreg(0), b: reg, predicate, mask };
    assert_eq!(refused(Level::Avx2, compare), Problem::Level);
    let blend =
        Inst::BlendVar { op: BlendVar::Blendvps, width, dst: Vreg(0), a: Vreg(1), b: reg, select: Vreg(3) };
    assert_eq!(refused(Level::Avx512, blend), Problem::Level);
}

#[test]
fn labels_are_bound_once() {
    let mut asm = Assembler::new(Level::Avx512);
    let label = asm.label();
    asm.push(Inst::Jmp { to: label });
    assert_eq!(asm.finish().err(), Some(AsmError::Unbound(label)));

    let mut asm = Assembler::new(Level::Avx512);
    let label = asm.label();
    asm.bind(label);
    asm.push(Inst::RET);
    asm.bind(label);
    assert_eq!(asm.finish().err(), Some(AsmError::BoundTwice(label)));
}

#[test]
fn references_stay_within_one_assembler() {
    let mut other = Assembler::new(Level::Avx512);
    let (constant, label) = (other.constant(1.0f32), other.label());
    let mut asm = Assembler::new(Level::Avx512);
    asm.push(Inst::vec2(Vec2::Broadcastss, Z, Vreg(0), Mem::constant(constant)));
    assert_eq!(asm.finish().err(), Some(AsmError::ForeignConst(constant)));
    let mut asm = Assembler::new(Level::Avx512);
    asm.push(Inst::Jmp { to: label });
    assert_eq!(asm.finish().err(), Some(AsmError::Unbound(label)));
}

#[test]
fn constants_take_no_index() {
    let mut asm = Assembler::new(Level::Avx512);
    let constant = asm.constant([0u8; 64]);
    let inst = Inst::load(Gpr::RAX, Mem::constant(constant).index(Gpr::RCX, Scale::S8));
    asm.push(inst);
    let problem = Problem::IndexOnRelative;
    assert_eq!(asm.finish().err(), Some(AsmError::Inst { index: 0, inst, problem }));
}

#[test]
fn alignments_are_powers_of_two_up_to_a_line() {
    for to in [0, 3, 128] {
        let mut asm = Assembler::new(Level::Avx512);
        asm.align(to);
        assert_eq!(asm.finish().err(), Some(AsmError::Alignment(to)));
    }
}

#[test]
fn an_error_names_the_instruction_and_the_remedy() {
    let mut asm = Assembler::new(Level::Avx512);
    asm.push(add(Vreg(2), Vreg(3), Masking::zero(Mask::K0)));
    assert_eq!(
        asm.finish().err().map(|error| error.to_string()).unwrap(),
        "instruction 0, `vaddps zmm1{z}, zmm2, zmm3`, cannot be encoded: zeroing needs a mask from k1 to k7"
    );
}
