//! Files: what is written is read back, side files stay in their folder, and nothing is left half written.

use lawson_graph::{
    Builder, Code, Constants, DType, Error, Graph, HostTensor, ParseOptions, PrintOptions, parse, print,
    read_law, write_law,
};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of its own for one test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("lawson-text-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A graph with a constant of every dtype, some with names that are alike, one in a sub-graph.
fn graph() -> Graph {
    let mut b = Builder::new("f");
    for dtype in DType::ALL {
        let tensor = match dtype {
            DType::Str => HostTensor::from_text(&[100], (0..100).map(|i| Arc::from(i.to_string())).collect()),
            _ => {
                let bytes =
                    (0..dtype.bytes_for(99).unwrap()).map(|i| if dtype == DType::Bool { i % 2 } else { i });
                HostTensor::from_bytes(dtype, &[3, 33], bytes.map(|i| i as u8).collect::<Vec<u8>>())
            }
        };
        let c = b.constant(tensor.unwrap()).unwrap();
        b.name(c, &format!("{dtype} weights")).unwrap();
    }
    let big = HostTensor::from_slice(&[70], &(0..70i64).collect::<Vec<_>>()).unwrap();
    let condition = b.scalar(DType::Bool, 1.0).unwrap();
    let unnamed = b.constant(big.clone()).unwrap();
    let named = b.constant(big.clone()).unwrap();
    b.name(named, &unnamed.index().to_string()).unwrap();
    let reserved = b.constant(big.clone()).unwrap();
    b.name(reserved, "__metadata__").unwrap();
    let results = b
        .cond(
            condition,
            &[],
            |b, _| Ok(vec![b.constant(big.clone())?]),
            |b, _| Ok(vec![b.constant(big.clone())?]),
        )
        .unwrap();
    b.output("y", results[0]).unwrap();
    b.finish().unwrap()
}

#[test]
fn graphs_come_back_from_files_with_and_without_side_file() {
    let folder = Folder::new();
    let (graph, path) = (graph(), folder.file("model.law"));
    write_law(&path, &graph, None).unwrap();
    assert_eq!(folder.names(), ["model.law"]);
    assert_eq!(read_law(&path).unwrap(), graph);
    for above in [0, 64, 98] {
        write_law(&path, &graph, Some(above)).unwrap();
        assert_eq!(read_law(&path).unwrap(), graph);
        let names = folder.names();
        assert!(
            matches!(names.as_slice(), [side, law] | [law, side] if law == "model.law" && is_side(side)),
            "{names:?}"
        );
    }
    for above in [99, 1000] {
        write_law(&path, &graph, Some(above)).unwrap();
        assert_eq!(read_law(&path).unwrap(), graph);
        assert_eq!(folder.names(), ["model.law"]);
    }
}

/// Whether this is the name of a side file of `model.law`.
fn is_side(name: &str) -> bool {
    let digest = name.strip_prefix("model-").and_then(|n| n.strip_suffix(".safetensors"));
    digest.is_some_and(|d| d.len() == 16 && u64::from_str_radix(d, 16).is_ok())
}

/// A graph with one large constant.
fn constant(element: f32) -> Graph {
    let mut b = Builder::new("f");
    let c = b.constant(HostTensor::from_slice(&[3], &[element, 1.0, 2.0]).unwrap()).unwrap();
    b.output("y", c).unwrap();
    b.finish().unwrap()
}

#[test]
fn an_old_text_has_its_old_constants_until_the_new_one_takes_its_place() {
    let folder = Folder::new();
    let path = folder.file("model.law");
    write_law(&path, &constant(5.0), Some(1)).unwrap();
    let old = fs::read(&path).unwrap();
    let kept = folder.names();
    // As if a process had ended between the two files.
    let other = folder.file("other");
    fs::create_dir(&other).unwrap();
    write_law(&other.join("model.law"), &constant(6.0), Some(1)).unwrap();
    for entry in fs::read_dir(&other).unwrap().map(Result::unwrap) {
        if is_side(entry.file_name().to_str().unwrap()) {
            fs::copy(entry.path(), folder.file(entry.file_name().to_str().unwrap())).unwrap();
        }
    }
    fs::remove_dir_all(&other).unwrap();
    assert_eq!(read_law(&path).unwrap(), constant(5.0));
    assert_eq!(folder.names().len(), 3);
    // The same text again: the same files, and what nobody refers to is gone.
    write_law(&path, &constant(5.0), Some(1)).unwrap();
    assert_eq!((fs::read(&path).unwrap(), folder.names()), (old, kept));
    // What another text refers to stays, and so does what is called otherwise.
    fs::copy(&path, folder.file("copy.law")).unwrap();
    for name in ["model.safetensors", "model-1.safetensors", "model-2.5.safetensors"] {
        fs::write(folder.file(name), "mine").unwrap();
    }
    write_law(&path, &constant(7.0), Some(1)).unwrap();
    assert_eq!(read_law(&path).unwrap(), constant(7.0));
    assert_eq!(read_law(&folder.file("copy.law")).unwrap(), constant(5.0));
    assert_eq!(folder.names().len(), 2 + 2 + 3);
}

#[test]
fn elements_in_side_files_are_aligned() {
    let folder = Folder::new();
    write_law(&folder.file("model.law"), &graph(), Some(8)).unwrap();
    let side = folder.names().into_iter().find(|n| is_side(n)).unwrap();
    let bytes = fs::read(folder.file(&side)).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    for (name, tensor) in file.iter() {
        let offset = tensor.data().as_ptr() as usize - bytes.as_ptr() as usize;
        assert_eq!(offset * 8 % tensor.dtype().bitsize(), 0, "{name}");
    }
}

#[test]
fn small_constants_splats_text_and_what_safetensors_lacks_stay_in_the_text() {
    let text = print(
        &graph(),
        &PrintOptions {
            constants: Constants::SideFile { name: "w.safetensors".into(), above: 10 },
            ..PrintOptions::default()
        },
    );
    assert!(text.starts_with("lawson 1\nweights \"w.safetensors\"\n\n"), "{text}");
    for line in text.lines().filter(|l| l.contains("constant")) {
        let inline = [": i2[", ": u2[", ": i4[", ": u4[", ": f4e2m1fn[", "fnuz[", ": str[", ": bool[]"]
            .iter()
            .any(|t| line.contains(t));
        assert_eq!(line.contains("constant file"), !inline, "{line}");
    }
    let options = PrintOptions {
        constants: Constants::SideFile { name: "w".into(), above: 1000 },
        ..Default::default()
    };
    assert!(!print(&graph(), &options).contains("weights \""), "no side file is named where none is needed");
}

/// Reads a text whose side file is `path`, from a folder that holds `w.safetensors`.
fn read(folder: &Folder, path: &str, constant: &str) -> Result<Graph, Error> {
    let text = format!("lawson 1 weights {path:?} graph @f() -> () {{ {constant} return }}");
    parse(&text, &ParseOptions { folder: Some(&folder.0), ..ParseOptions::default() })
}

fn folder_with_weights() -> Folder {
    let folder = Folder::new();
    let mut b = Builder::new("f");
    let w = b.constant(HostTensor::from_slice(&[2], &[1f32, 2.0]).unwrap()).unwrap();
    b.name(w, "weight").unwrap();
    write_law(&folder.file("w.law"), &b.finish().unwrap(), Some(0)).unwrap();
    let side = folder.names().into_iter().find(|n| n.starts_with("w-")).unwrap();
    fs::rename(folder.file(&side), folder.file("w.safetensors")).unwrap();
    folder
}

#[test]
fn constants_of_side_files_are_checked() {
    let folder = folder_with_weights();
    let code = |constant: &str| read(&folder, "w.safetensors", constant).map_err(|e| e.code()).err();
    assert_eq!(code("%w = constant file \"weight\""), None);
    assert_eq!(code("%w: f32[2] = constant file \"weight\""), None);
    assert_eq!(code("%w: f32[3] = constant file \"weight\""), Some(Code::TypeMismatch));
    assert_eq!(code("%w: i32[2] = constant file \"weight\""), Some(Code::TypeMismatch));
    let error = read(&folder, "w.safetensors", "%w = constant file \"wieght\"").unwrap_err();
    assert_eq!(error.code(), Code::UnknownName);
    assert!(error.to_string().contains("did you mean `weight`?"), "{error}");
    assert_eq!(read(&folder, "w.law", "").unwrap_err().code(), Code::FileFormat);
    assert_eq!(read(&folder, "missing", "").unwrap_err().code(), Code::Io);
    fs::create_dir(folder.file("folder")).unwrap();
    assert_eq!(read(&folder, "folder", "").unwrap_err().code(), Code::Io);
    assert_eq!(
        Graph::parse("lawson 1 graph @f() -> () { %w = constant file \"w\" return }").unwrap_err().code(),
        Code::UnknownName
    );
}

#[test]
fn side_files_lie_below_the_folder() {
    let folder = folder_with_weights();
    fs::create_dir(folder.file("below")).unwrap();
    fs::copy(folder.file("w.safetensors"), folder.file("below/w.safetensors")).unwrap();
    for inside in ["w.safetensors", "./w.safetensors", "below/w.safetensors"] {
        assert!(read(&folder, inside, "").is_ok(), "{inside}");
    }
    let absolute = folder.file("w.safetensors");
    let name = folder.0.file_name().unwrap().to_str().unwrap();
    for outside in [
        "",
        "..",
        "../w.safetensors",
        "below/../w.safetensors",
        &format!("../{name}/w.safetensors"),
        "/dev/zero",
    ]
    .into_iter()
    .chain(absolute.to_str())
    {
        assert_eq!(read(&folder, outside, "").unwrap_err().code(), Code::OutsideFolder, "{outside}");
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_of_the_folder_are_refused() {
    let (folder, other) = (Folder::new(), folder_with_weights());
    let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, folder.file(name)).unwrap();
    link(&other.file("w.safetensors"), "file");
    link(&other.0, "folder");
    assert_eq!(read(&folder, "file", "").unwrap_err().code(), Code::OutsideFolder);
    assert_eq!(read(&folder, "folder/w.safetensors", "").unwrap_err().code(), Code::OutsideFolder);
    fs::copy(other.file("w.safetensors"), folder.file("real")).unwrap();
    link(Path::new("real"), "inside");
    assert!(read(&folder, "inside", "").is_ok());
}

#[test]
fn damaged_side_files_are_errors() {
    let folder = folder_with_weights();
    let whole = fs::read(folder.file("w.safetensors")).unwrap();
    for length in 0..whole.len() {
        fs::write(folder.file("cut"), &whole[..length]).unwrap();
        assert_eq!(read(&folder, "cut", "").unwrap_err().code(), Code::FileFormat);
    }
    for at in 0..whole.len() - 8 {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x55;
        fs::write(folder.file("damaged"), &damaged).unwrap();
        let _ = read(&folder, "damaged", "%w: f32[2] = constant file \"weight\"");
    }
}

/// A safetensors file of that header and that many bytes of elements.
fn safetensors(header: &str, elements: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.resize(bytes.len() + elements, 0);
    bytes
}

#[test]
fn side_files_whose_header_lies_are_errors() {
    let folder = Folder::new();
    let tensor = |name: &str, elements: u64, start: u64, end: u64| {
        format!(r#""{name}": {{"dtype": "U8", "shape": [{elements}], "data_offsets": [{start}, {end}]}}"#)
    };
    // Each as large as the format can say, so that their end is just below 2^64.
    let part = (1u64 << 61) - 1;
    let parts: Vec<String> =
        (0..8).map(|i| tensor(&format!("t{i}"), part, i * part, (i + 1) * part)).collect();
    let files = [
        u64::MAX.to_le_bytes().to_vec(),
        [&(1u64 << 40).to_le_bytes()[..], b"{}"].concat(),
        safetensors(&format!("{{{}}}", tensor("w", 1 << 50, 0, 1 << 50)), 4),
        safetensors(&format!("{{{}}}", tensor("w", 1 << 50, 0, 4)), 4),
        safetensors(&format!("{{{}}}", tensor("w", 4, 4, 8)), 8),
        safetensors(&format!("{{{}}}", tensor("w", u64::MAX, 0, u64::MAX)), 8),
        safetensors(&format!("{{{}}}", parts.join(",")), 8),
        safetensors(&format!("{{{}}}", tensor("w", 4, 0, 4)), 5),
        safetensors(&"[".repeat(100_000), 0),
    ];
    for (i, file) in files.iter().enumerate() {
        fs::write(folder.file("w"), file).unwrap();
        assert_eq!(read(&folder, "w", "").unwrap_err().code(), Code::FileFormat, "file {i}");
    }
    fs::write(folder.file("w"), safetensors(&format!("{{{}}}", tensor("w", 4, 0, 4)), 4)).unwrap();
    assert!(read(&folder, "w", "%w: u8[4] = constant file \"w\"").is_ok());
}

#[cfg(unix)]
#[test]
fn links_are_written_through() {
    let folder = Folder::new();
    fs::create_dir(folder.file("below")).unwrap();
    for name in ["model.law", "model.safetensors"] {
        fs::write(folder.file("below").join(name), "old").unwrap();
        std::os::unix::fs::symlink(Path::new("below").join(name), folder.file(name)).unwrap();
    }
    write_law(&folder.file("model.law"), &graph(), Some(8)).unwrap();
    assert!(fs::symlink_metadata(folder.file("model.law")).unwrap().is_symlink());
    assert!(fs::symlink_metadata(folder.file("model.safetensors")).unwrap().is_symlink());
    assert_eq!(read_law(&folder.file("model.law")).unwrap(), graph());
    assert_eq!(read_law(&folder.file("below/model.law")).unwrap(), graph());
}

#[test]
fn failing_to_write_leaves_nothing_behind() {
    let folder = Folder::new();
    let graph = graph();
    fs::create_dir(folder.file("taken.law")).unwrap();
    assert_eq!(write_law(&folder.file("taken.law"), &graph, None).unwrap_err().code(), Code::Io);
    assert_eq!(folder.names(), ["taken.law"]);
    assert_eq!(write_law(&folder.file("no/such/folder.law"), &graph, Some(1)).unwrap_err().code(), Code::Io);
    assert_eq!(write_law(&folder.file("x.safetensors"), &graph, Some(1)).unwrap_err().code(), Code::Usage);
    assert_eq!(write_law(Path::new(""), &graph, None).unwrap_err().code(), Code::Io);
    assert_eq!(folder.names(), ["taken.law"]);
}

#[test]
fn files_that_are_not_text_are_errors() {
    let folder = Folder::new();
    fs::write(folder.file("x.law"), b"lawson 1\n\xff").unwrap();
    assert_eq!(read_law(&folder.file("x.law")).unwrap_err().code(), Code::FileFormat);
    assert_eq!(read_law(&folder.file("missing.law")).unwrap_err().code(), Code::Io);
    fs::write(folder.file("y.law"), "lawson 1\ngraph").unwrap();
    let error = read_law(&folder.file("y.law")).unwrap_err().to_string();
    assert!(error.contains("y.law:2:6"), "{error}");
}

#[test]
fn texts_above_the_limit_are_refused_before_they_are_read() {
    let folder = Folder::new();
    let path = folder.file("x.law");
    // A file without content on the disk: reading it would give zeros, which are no text form.
    fs::File::create(&path).unwrap().set_len((1 << 30) + 1).unwrap();
    assert_eq!(read_law(&path).unwrap_err().code(), Code::Budget);
}
