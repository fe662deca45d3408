//! What this machine says of itself: estimates for the machine model.

use lawson_kernel::machine::{Chains, Machine, Rates};

/// The machine that this runs on, as its hardware describes it.
pub fn machine() -> Machine {
    let mut m = Machine::default();
    // Every index is a cache of the first processor: its level, what it holds, its size.
    for index in 0..8 {
        let read = |what: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{what}");
            std::fs::read_to_string(path).map(|s| s.trim().to_string()).ok()
        };
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size")) else {
            break;
        };
        let Some(bytes) = bytes(&size) else { continue };
        match (level.as_str(), kind.as_str()) {
            ("1", "Data") => m.l1 = bytes,
            ("2", _) => m.l2 = bytes,
            ("3", _) => m.l3 = bytes,
            _ => {}
        }
    }
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    m.rates = rates(&text);
    m.read_streams = read_streams(&text);
    if missing_avx512().is_none() {
        if is_intel(&text) {
            double_units(&mut m);
        } else if has_two_units(&text) {
            m.fmas_per_miss = MISS_OF_TWO_UNITS;
        }
    }
    m.dots = has_dots();
    m.chains = Some(Chains::on_cores(members(), &m));
    m
}

/// What a jump that is guessed wrong takes on Zen 5, in multiply-adds, of which its cores do two a cycle: chosen so that the sums of products which
/// took less time with zeros left out are those that the model says.
const MISS_OF_TWO_UNITS: f64 = 70.0;

/// How fast this machine might be, by its clock: two multiply-adds of its widest vectors a cycle, or one where units of half their width
/// share the work, as in the first processors of AMD with AVX-512.
fn rates(text: &str) -> Rates {
    let clock = cpu_field(text, "cpu MHz").and_then(|s| s.parse::<f64>().ok()).filter(|m| *m > 100.0);
    let halves = missing_avx512().is_none() && !has_two_units(text);
    let per_cycle = if halves { 1.0 } else { 2.0 };
    Rates::estimate(clock.unwrap_or(3000.0) * 1e6 * per_cycle, members())
}

/// Whether a core with AVX-512 is taken to have two units for multiply-adds of its vectors: those of Intel's servers, and those of AMD from
/// family 26 on, but for the ones in laptops, whose units are half as wide. The bit by which processors tell the width of their units is
/// not there in virtual machines.
fn has_two_units(text: &str) -> bool {
    const FULL: u32 = 26;
    const IN_LAPTOPS: [u32; 3] = [0x2, 0x3, 0x6];
    let number = |name| cpu_field(text, name).and_then(|n| n.parse::<u32>().ok());
    match cpu_field(text, "vendor_id") {
        Some("AuthenticAMD") => match (number("cpu family"), number("model")) {
            (Some(FULL), Some(model)) => !IN_LAPTOPS.contains(&(model >> 4)),
            (family, _) => family.is_some_and(|f| f > FULL),
        },
        _ => is_intel(text),
    }
}

fn is_intel(text: &str) -> bool {
    cpu_field(text, "vendor_id") == Some("GenuineIntel")
}

/// A core of Intel that does two multiply-adds in the time in which others do one gets fewer bytes for each, and its loads are more in the
/// way. The numbers were chosen so that the tiles which came out best on Sapphire Rapids are taken. Zen 5 does two, too, and takes no less
/// time so: products and convolutions reach 97 % of the limit and more with either, windows of one channel are up to a fifth slower.
fn double_units(m: &mut Machine) {
    m.side = 0.5;
    m.vector_loads_per_fma = 0.78;
    m.fmas_per_miss = 105.0;
    m.asks_for_panels = true;
    m.l2_bytes_per_fma = 20.0;
    m.l3_bytes_per_fma = 6.0;
    m.memory_bytes_per_fma = 2.5;
}

/// How many streams a core reads at once when it reads fastest. Processors of AMD follow several by themselves, and hints ahead of one
/// stream are in their way: one stream comes at 20 GB/s, with hints at 15, four streams at 24 (a core with Zen 3). Later ones, which have
/// AVX-512, come close to what memory gives with hints.
fn read_streams(text: &str) -> i64 {
    let follows = cpu_field(text, "vendor_id") == Some("AuthenticAMD") && missing_avx512().is_some();
    if follows { 4 } else { 1 }
}

/// How many processors a team could have.
fn members() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// What the processor calls itself.
pub fn model() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let part = |name: &str| cpu_field(&text, name).unwrap_or("?").to_string();
    // Virtual machines give many processors one name; family and model tell them apart.
    format!(
        "{}, family {}, model {}, stepping {}",
        part("model name"),
        part("cpu family"),
        part("model"),
        part("stepping")
    )
}

/// The value of a field, of the first processor that `/proc/cpuinfo` lists.
fn cpu_field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

/// Whether this machine multiplies bytes and adds up four products a lane, with AVX-512.
pub fn has_dots() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512vnni");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// What code for AVX-512 needs and this machine has not, if anything.
pub fn missing_avx512() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        // Those of `asm::Level::Avx512`, and what masks are made with.
        let features = [
            ("BMI2", std::arch::is_x86_feature_detected!("bmi2")),
            ("AVX-512F", std::arch::is_x86_feature_detected!("avx512f")),
            ("AVX-512BW", std::arch::is_x86_feature_detected!("avx512bw")),
            ("AVX-512CD", std::arch::is_x86_feature_detected!("avx512cd")),
            ("AVX-512DQ", std::arch::is_x86_feature_detected!("avx512dq")),
            ("AVX-512VL", std::arch::is_x86_feature_detected!("avx512vl")),
        ];
        features.into_iter().find(|(_, there)| !there).map(|(name, _)| name)
    }
    #[cfg(not(target_arch = "x86_64"))]
    Some("an x86-64 processor")
}

/// What code for AVX2 needs and this machine has not, if anything.
pub fn missing_avx2() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        let features = [
            ("BMI1", std::arch::is_x86_feature_detected!("bmi1")),
            ("BMI2", std::arch::is_x86_feature_detected!("bmi2")),
            ("AVX2", std::arch::is_x86_feature_detected!("avx2")),
            ("FMA", std::arch::is_x86_feature_detected!("fma")),
            ("F16C", std::arch::is_x86_feature_detected!("f16c")),
        ];
        features.into_iter().find(|(_, there)| !there).map(|(name, _)| name)
    }
    #[cfg(not(target_arch = "x86_64"))]
    Some("an x86-64 processor")
}

/// What this machine lacks to run machine code of any kind.
pub fn missing_feature() -> Option<&'static str> {
    missing_avx512().and_then(|_| missing_avx2())
}

fn bytes(text: &str) -> Option<i64> {
    let (number, unit) = match text.strip_suffix('K') {
        Some(n) => (n, 1 << 10),
        None => match text.strip_suffix('M') {
            Some(n) => (n, 1 << 20),
            None => (text, 1),
        },
    };
    number.parse::<i64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::has_two_units;

    #[test]
    fn units_are_told_by_vendor_family_and_model() {
        let text = |vendor: &str, family: u32, model: u32| {
            format!("processor\t: 0\nvendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\n")
        };
        let two = |vendor, family, model| has_two_units(&text(vendor, family, model));
        assert!(two("GenuineIntel", 6, 143), "a server of Intel");
        assert!(!two("AuthenticAMD", 25, 17), "Zen 4");
        assert!(two("AuthenticAMD", 26, 2) && two("AuthenticAMD", 26, 0x44), "servers and desktops of Zen 5");
        assert!(!two("AuthenticAMD", 26, 0x24), "a laptop of Zen 5");
        assert!(two("AuthenticAMD", 27, 0x24), "what is to come");
        assert!(!has_two_units(""), "nothing is known");
    }
}
