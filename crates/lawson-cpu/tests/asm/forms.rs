//! Every form of instruction, decoded again by iced-x86: same text, same length as its own encoder would choose.

use iced_x86::{
    Decoder, DecoderOptions, Encoder, Formatter, FormatterOptions, IntelFormatter, MemorySizeOptions,
};
use lawson_cpu::asm::*;

use crate::random::{Random, WIDTHS, general, vector_forms};

/// Vector instructions show constants as unsigned bytes, general ones as signed numbers.
enum Immediates {
    Unsigned,
    Signed,
}

struct Oracle(IntelFormatter);

impl Oracle {
    fn new(immediates: Immediates) -> Oracle {
        let mut formatter = IntelFormatter::new();
        let options: &mut FormatterOptions = formatter.options_mut();
        options.set_space_after_operand_separator(true);
        options.set_hex_prefix("0x");
        options.set_hex_suffix("");
        options.set_uppercase_hex(false);
        options.set_memory_size_options(MemorySizeOptions::Always);
        options.set_signed_immediate_operands(matches!(immediates, Immediates::Signed));
        options.set_branch_leading_zeros(false);
        Oracle(formatter)
    }

    /// What is wrong with these bytes for this instruction, if anything.
    fn check(&mut self, inst: Inst, level: Level, bytes: &[u8]) -> Option<String> {
        let decoded = Decoder::with_ip(64, bytes, 0, DecoderOptions::NONE).decode();
        let mut text = String::new();
        self.0.format(&decoded, &mut text);
        let ours = match inst {
            // The oracle writes their mask as an operand of its own.
            Inst::Gather { .. } | Inst::Scatter { .. } => {
                inst.to_string().replace("{k", ", k").replace('}', "")
            }
            _ => inst.at(level).to_string(),
        };
        let shortest = Encoder::new(64).encode(&decoded, 0).unwrap_or(0);
        let fine = ours == text && decoded.len() == bytes.len() && shortest == bytes.len();
        (!fine).then(|| format!("{ours}\n{text} ({shortest} bytes)\n{bytes:02x?}\n"))
    }
}

fn assemble(inst: Inst, level: Level) -> Result<Vec<u8>, Problem> {
    let mut asm = Assembler::new(level);
    asm.push(inst);
    match asm.finish() {
        Ok(code) => Ok(code.bytes().to_vec()),
        Err(AsmError::Inst { problem, .. }) => Err(problem),
        Err(other) => panic!("{inst:?}: {other}"),
    }
}

/// What a random instruction may be refused for: a combination that its operation does not have.
fn may_refuse(problem: Problem) -> bool {
    use Problem::*;
    matches!(
        problem,
        Width
            | Level
            | NoBroadcast
            | NeedsMemory
            | NeedsRegister
            | NotMaskable
            | MaskRequired
            | GatherOverlap
            | ZeroingMemory
    )
}

fn report(wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} wrong, some of them:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
}

#[test]
fn every_vector_instruction_decodes_to_itself() {
    let mut oracle = Oracle::new(Immediates::Unsigned);
    let mut random = Random::new(1);
    let mut checked = 0;
    let mut wrong = Vec::new();
    for (name, fill) in vector_forms() {
        let mut levels = 0;
        for level in [Level::Avx512, Level::Avx2] {
            let before = checked;
            for width in WIDTHS {
                for _ in 0..100 {
                    let inst = fill(&mut random, width, level);
                    match assemble(inst, level) {
                        Ok(bytes) => {
                            wrong.extend(oracle.check(inst, level, &bytes));
                            checked += 1;
                        }
                        Err(problem) => assert!(may_refuse(problem), "{inst}: {problem}"),
                    }
                }
            }
            levels += usize::from(checked > before);
        }
        assert!(levels > 0, "{name} was refused at every level");
    }
    report(&wrong);
    assert!(checked > 50_000, "only {checked} instructions were checked");
}

#[test]
fn every_general_instruction_decodes_to_itself() {
    let (mut signed, mut unsigned) = (Oracle::new(Immediates::Signed), Oracle::new(Immediates::Unsigned));
    let mut random = Random::new(2);
    let mut wrong = Vec::new();
    for _ in 0..1000 {
        for inst in general(&mut random) {
            let bytes = assemble(inst, Level::Avx512).unwrap();
            let oracle = match inst {
                Inst::MaskShift { .. } => &mut unsigned,
                _ => &mut signed,
            };
            wrong.extend(oracle.check(inst, Level::Avx512, &bytes));
        }
    }
    report(&wrong);
}

#[test]
fn nops_are_one_instruction_of_their_length() {
    for bytes in 1..=9 {
        let code = assemble(Inst::Nop { bytes }, Level::Avx2).unwrap();
        let decoded = Decoder::new(64, &code, DecoderOptions::NONE).decode();
        assert_eq!(decoded.mnemonic(), iced_x86::Mnemonic::Nop);
        assert_eq!((decoded.len(), code.len()), (bytes as usize, bytes as usize));
    }
}
