//! Whole pieces of code: jumps, alignment, constants, the disassembly.

use iced_x86::{Decoder, DecoderOptions, Instruction};
use lawson_cpu::asm::*;

fn decode(code: &Code) -> Vec<Instruction> {
    Decoder::with_ip(64, code.instructions(), 0, DecoderOptions::NONE).into_iter().collect()
}

#[test]
fn jumps_land_on_their_labels_at_every_distance() {
    for distance in (0..140).chain([1000, 40_000]) {
        let mut asm = Assembler::new(Level::Avx512);
        let (back, ahead) = (asm.label(), asm.label());
        asm.push(Inst::Jcc { cond: Cond::Ne, to: ahead });
        asm.bind(back);
        for _ in 0..distance {
            asm.push(Inst::Nop { bytes: 1 });
        }
        asm.push(Inst::Jcc { cond: Cond::L, to: back });
        asm.push(Inst::Jmp { to: back });
        asm.bind(ahead);
        asm.push(Inst::Jmp { to: ahead });
        let code = asm.finish().unwrap();
        let decoded = decode(&code);
        let targets: Vec<u64> =
            decoded.iter().filter(|i| i.near_branch_target() != 0).map(|i| i.near_branch_target()).collect();
        let (back, ahead) = (code.offset_of(back).unwrap() as u64, code.offset_of(ahead).unwrap() as u64);
        assert_eq!(targets, [ahead, back, back, ahead]);
        let conditional = &decoded[distance + 1];
        assert_eq!(conditional.len(), if distance <= 126 { 2 } else { 6 }, "distance {distance}");
    }
}

#[test]
fn alignment_fills_with_as_few_nops_as_can_be() {
    for before in 0..64 {
        let mut asm = Assembler::new(Level::Avx512);
        for _ in 0..before {
            asm.push(Inst::Plain(Plain::Cdq));
        }
        asm.align(64);
        let head = asm.label();
        asm.bind(head);
        asm.push(Inst::RET);
        let code = asm.finish().unwrap();
        assert_eq!(code.offset_of(head).unwrap() % 64, 0);
        let nops = decode(&code).iter().filter(|i| i.mnemonic() == iced_x86::Mnemonic::Nop).count();
        let missing: usize = (64 - before) % 64;
        assert_eq!(nops, missing.div_ceil(9));
    }
}

#[test]
fn equal_constants_share_a_place_and_each_is_aligned() {
    let mut asm = Assembler::new(Level::Avx512);
    let lanes: [i32; 16] = std::array::from_fn(|lane| lane as i32);
    let (one, again) = (asm.constant(1.0f32), asm.constant(0x3F80_0000u32));
    assert_eq!(one, again);
    let constants = [one, asm.constant(2.0f64), asm.constant(lanes), asm.constant(-1.0f32)];
    let data: [&[u8]; 4] = [
        &1f32.to_le_bytes(),
        &2f64.to_le_bytes(),
        &lanes.map(i32::to_le_bytes).concat(),
        &(-1f32).to_le_bytes(),
    ];
    for (lane, constant) in constants.into_iter().enumerate() {
        // An immediate behind the displacement must not shift the address.
        let src = Mem::constant(constant);
        asm.push(Inst::vec3_imm(Vec3Imm::Shufps, Width::Z512, Vreg(lane as u8), Vreg(0), src, 7));
        asm.push(Inst::Load { size: Size::D32, dst: Gpr::RAX, src });
    }
    let code = asm.finish().unwrap();
    for (at, inst) in decode(&code).iter().enumerate() {
        assert!(inst.is_ip_rel_memory_operand());
        let address = inst.ip_rel_memory_address() as usize;
        let data = data[at / 2];
        assert_eq!(address % data.len(), 0);
        assert_eq!(&code.bytes()[address..address + data.len()], data);
    }
    let start = code.instructions().len().next_multiple_of(64);
    assert_eq!(code.bytes().len(), start + 64 + 8 + 4 + 4);
}

#[test]
fn an_offset_into_a_constant_is_kept() {
    let mut asm = Assembler::new(Level::Avx2);
    let constant = asm.constant([7u8; 64]);
    asm.push(Inst::vec2(Vec2::Movups, Width::Y256, Vreg(9), Mem::constant(constant).offset(32)));
    let code = asm.finish().unwrap();
    assert_eq!(decode(&code)[0].ip_rel_memory_address(), 64 + 32);
}

#[test]
fn the_disassembly_shows_offsets_labels_comments_and_constants() {
    let mut asm = Assembler::with_listing(Level::Avx512);
    let (half, head) = (asm.constant(0.5f32), asm.label());
    asm.push(Inst::MovImm { dst: Gpr::RCX, imm: 16 });
    asm.align(16);
    asm.bind(head);
    asm.comment(format_args!("y = {} * x", 0.5));
    let src = VecSrc::Broadcast(Mem::constant(half));
    asm.push(Inst::vec3(Vec3::Mulps, Width::Z512, Vreg(17), Vreg(3), src));
    let (dst, masking) = (Mem::base(Gpr::RDI).index(Gpr::RAX, Scale::S4).offset(-64), Masking::keep(Mask(2)));
    let dst = VecDst::Mem(dst);
    asm.push(Inst::VecStore { op: VecStore::Movups, width: Width::Z512, dst, src: Vreg(17), masking });
    asm.push(Inst::alu(Alu::Sub, Gpr::RCX, 1));
    asm.push(Inst::Jcc { cond: Cond::Ne, to: head });
    asm.push(Inst::RET);
    let code = asm.finish().unwrap();
    assert_eq!(
        code.disassembly().unwrap(),
        "     0  mov ecx, 0x10
     5  nop ; 9 bytes
     e  nop ; 2 bytes
.L0:
        ; y = 0.5 * x
    10  vmulps zmm17, zmm3, dword ptr [.C4_0]{1to16}
    1a  vmovups zmmword ptr [rdi+rax*4-0x40]{k2}, zmm17
    22  sub rcx, 1
    26  jne .L0
    28  ret
    2c  .C4_0: 3f000000
"
    );
}

#[test]
fn without_a_listing_there_is_no_disassembly() {
    let mut asm = Assembler::new(Level::Avx512);
    asm.comment(format_args!("not kept"));
    asm.push(Inst::RET);
    assert!(asm.finish().unwrap().disassembly().is_none());
}
