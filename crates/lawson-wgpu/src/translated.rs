//! Shaders as they were translated for a driver: in memory, and on disk beside what the driver compiled of them.
//!
//! Translating takes as long as a driver takes to find what it compiled before, and the result depends on the text alone. An entry of the file is
//! the sum of a text, then for each launch how many words follow, and the words; the file's head says that they are what was written
//! (`cache.rs`). A text is known by a sum of 128 bits and its length.

use crate::cache;
use crate::device::lock;
use crate::spirv::Controls;
use lawson_graph::Result;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Raised whenever the same text is translated to other words: files of others are not used.
const TRANSLATION: u32 = 1;
/// The most bytes of a file; beyond that, what this process did not use is dropped.
const MOST_BYTES: usize = 64 << 20;

/// The words of each launch of a shader.
pub(crate) type Launches = Arc<Vec<Vec<u32>>>;

/// What is known of shaders.
#[derive(Debug)]
pub(crate) struct Translated {
    /// Where it is kept, and for whom.
    file: Option<(PathBuf, String)>,
    known: Mutex<HashMap<Key, Known>>,
}

/// What a text is known by.
type Key = (u128, u64);

#[derive(Debug)]
struct Known {
    launches: Launches,
    /// Whether this process asked for it, and whether it is in the file.
    used: bool,
    saved: bool,
}

impl Translated {
    /// What a folder has for an adapter, and why not if it has something else.
    pub(crate) fn open(folder: Option<&Path>, of: &str) -> (Translated, Option<String>) {
        let Some(folder) = folder else {
            return (Translated { file: None, known: Mutex::default() }, None);
        };
        let of = format!("{of}, translated by Lawson {} ({TRANSLATION})", env!("CARGO_PKG_VERSION"));
        let path = cache::file(folder, &of, cache::Kind::Shaders);
        let read =
            cache::load(&path, &of).map(|data| data.map_or_else(|| Some(HashMap::new()), |d| parse(&d)));
        let (known, why) = match read {
            Ok(Some(known)) => (known, None),
            Ok(None) => (HashMap::new(), Some(cache::Unusable::Damaged)),
            Err(why) => (HashMap::new(), Some(why)),
        };
        let warning = why.map(|why| format!("the shaders in {} are not used: {why}", path.display()));
        (Translated { file: Some((path, of)), known: Mutex::new(known) }, warning)
    }

    /// The launches of a text: those that are known, or what `translate` gives.
    pub(crate) fn get(
        &self,
        text: &str,
        controls: Controls,
        launches: &[&str],
        translate: impl FnOnce() -> Result<Vec<Vec<u32>>>,
    ) -> Result<Launches> {
        let asked = format!("{controls:?} {launches:?}");
        let key = (sum(asked.bytes().chain(text.bytes())), text.len() as u64);
        if let Some(known) = lock(&self.known).get_mut(&key).filter(|k| k.launches.len() == launches.len()) {
            known.used = true;
            return Ok(known.launches.clone());
        }
        let launches = Arc::new(translate()?);
        let known = Known { launches: launches.clone(), used: true, saved: false };
        lock(&self.known).insert(key, known);
        Ok(launches)
    }

    /// Writes what is new to disk, if there is a file for it.
    pub(crate) fn save(&self) -> Result<()> {
        let Some((path, of)) = &self.file else { return Ok(()) };
        let mut known = lock(&self.known);
        if known.values().all(|k| k.saved) {
            return Ok(());
        }
        let bytes = |k: &Known| k.launches.iter().map(|l| 4 * l.len() + 4).sum::<usize>() + 28;
        if known.values().map(bytes).sum::<usize>() > MOST_BYTES {
            known.retain(|_, k| k.used);
        }
        let mut data = Vec::new();
        for ((sum, length), entry) in known.iter_mut() {
            data.extend(sum.to_le_bytes());
            data.extend(length.to_le_bytes());
            data.extend((entry.launches.len() as u32).to_le_bytes());
            for launch in entry.launches.iter() {
                data.extend((launch.len() as u32).to_le_bytes());
                data.extend(launch.iter().flat_map(|w| w.to_le_bytes()));
            }
            entry.saved = true;
        }
        cache::save(path, of, &data)
    }
}

/// The entries of a file; `None` if they are not what is written.
fn parse(mut data: &[u8]) -> Option<HashMap<Key, Known>> {
    let mut known = HashMap::new();
    while !data.is_empty() {
        let sum = u128::from_le_bytes(*data.split_off(..16)?.first_chunk()?);
        let length = u64::from_le_bytes(*data.split_off(..8)?.first_chunk()?);
        let number =
            |data: &mut &[u8]| Some(u32::from_le_bytes(*data.split_off(..4)?.first_chunk()?) as usize);
        let count = number(&mut data)?;
        let mut launches = Vec::new();
        for _ in 0..count {
            let bytes = number(&mut data)?.checked_mul(4)?;
            let words = data.split_off(..bytes)?.chunks_exact(4);
            launches.push(words.filter_map(|w| Some(u32::from_le_bytes(*w.first_chunk()?))).collect());
        }
        known.insert((sum, length), Known { launches: Arc::new(launches), used: false, saved: true });
    }
    Some(known)
}

/// FNV-1a, 128 bits.
fn sum(bytes: impl Iterator<Item = u8>) -> u128 {
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.fold(BASIS, |h, b| (h ^ u128::from(b)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTROLS: Controls = Controls { subnormal: true, special: false };

    #[test]
    fn what_was_translated_once_is_found_again() {
        let folder = std::env::temp_dir().join(format!("lawson-translated-{}", std::process::id()));
        let (first, warning) = Translated::open(Some(&folder), "a device");
        assert_eq!(warning, None);
        let made = first.get("text", CONTROLS, &["a", "b"], || Ok(vec![vec![1, 2], vec![3]])).unwrap();
        first.save().unwrap();
        let never = || -> Result<Vec<Vec<u32>>> { panic!("translated again") };
        let (again, warning) = Translated::open(Some(&folder), "a device");
        assert_eq!((again.get("text", CONTROLS, &["a", "b"], never).unwrap(), warning), (made, None));
        // Another text, other launches, other requests and another device are not the same.
        let other = || Ok(vec![vec![9]]);
        assert_eq!(again.get("texts", CONTROLS, &["a"], other).unwrap()[0], [9]);
        assert_eq!(again.get("text", CONTROLS, &["a"], other).unwrap()[0], [9]);
        let controls = Controls { special: true, ..CONTROLS };
        assert_eq!(again.get("text", controls, &["a"], other).unwrap()[0], [9]);
        let (elsewhere, _) = Translated::open(Some(&folder), "another device");
        assert_eq!(elsewhere.get("text", CONTROLS, &["a"], other).unwrap()[0], [9]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_that_end_too_early_are_not_used() {
        let mut data = vec![7u8; 16];
        data.extend(4u64.to_le_bytes());
        data.extend(1u32.to_le_bytes());
        data.extend(u32::MAX.to_le_bytes());
        assert!(parse(&data).is_none());
        for end in 1..data.len() {
            assert!(parse(&data[..end]).is_none(), "{end}");
        }
    }
}
