//! What this machine says of itself: estimates for the machine model.

use lawson_kernel::machine::Machine;

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
    m
}

/// What the emitted code needs and this machine has not, if anything.
pub fn missing_feature() -> Option<&'static str> {
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
