//! Where the inputs of graphs come from.

use clap::{Args, ValueEnum};

/// A value for a symbol.
#[derive(Clone, Debug)]
pub struct Bind {
    /// The symbol's name.
    pub symbol: String,
    /// Its value.
    pub value: i64,
}

impl std::str::FromStr for Bind {
    type Err = String;

    fn from_str(text: &str) -> Result<Bind, String> {
        let (symbol, value) = text.split_once('=').ok_or("expected NAME=NUMBER, such as N=8")?;
        match value.trim().parse() {
            Ok(value) if value >= 0 && !symbol.trim().is_empty() => {
                Ok(Bind { symbol: symbol.trim().to_string(), value })
            }
            _ => Err("expected NAME=NUMBER with a whole number that is not negative".to_string()),
        }
    }
}

/// Where the inputs of a graph come from.
#[derive(Clone, Debug, Args)]
pub struct InputArgs {
    /// NAME=FILE, NAME=random, NAME=zeros; FILE.npz for several; FILE for the only one; random or zeros for
    /// all that are left. A FILE is .npy, .pb (a value of ONNX test data), or an image (.png, .jpg, .bmp, .ppm). Random floats are of order 1,
    /// random integers 0 or 1. An ONNX model is imported for the sizes of the files, unless --open is said.
    #[arg(short, long = "input", value_name = "INPUT", requires = "file")]
    pub inputs: Vec<String>,
    #[command(flatten)]
    pub image: ImageArgs,
    /// The seed of random inputs and lists, and of the sizes that nothing else determines.
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Give an open size its value in this run; what is compiled stays good for any. Only an ONNX model all of whose sizes are given is imported for
    /// them, unless --open is said.
    #[arg(long, value_name = "NAME=NUMBER", requires = "file")]
    pub bind: Vec<Bind>,
    /// Fix an open size when the file is read: what is compiled is for that size, and takes no other.
    #[arg(long = "dim", value_name = "NAME=NUMBER", requires = "file")]
    pub dims: Vec<Bind>,
    /// Keep the sizes of an ONNX model open although inputs or --bind say them: what is compiled then takes any.
    #[arg(long, requires = "file")]
    pub open: bool,
    /// How many steps a run on the reference target may take; an operator is one, and so are 256 elements or 1024 products [default: 10000000].
    #[arg(long, value_name = "COUNT", requires = "file")]
    pub max_steps: Option<u64>,
    /// How many bytes of values may be alive at once, and inputs be made of; on the reference target a float takes 8 and an integer 16 [default: 2147483648 there; on
    /// the CPU target what the system has left].
    #[arg(long, value_name = "BYTES", requires = "file")]
    pub max_bytes: Option<u64>,
}

/// The sizes that a file is read for, where a command takes no inputs.
#[derive(Clone, Debug, Default, Args)]
pub struct SizeArgs {
    /// Fix an open size when the file is read, by the name that the model or the graph has for it.
    #[arg(long = "dim", value_name = "NAME=NUMBER")]
    pub dims: Vec<Bind>,
    /// Import an ONNX model for the sizes of these inputs, as `run` does: NAME=FILE; FILE.npz for several; FILE for the only one.
    #[arg(short, long = "input", value_name = "INPUT")]
    pub inputs: Vec<String>,
    /// Keep sizes open although inputs or --bind say them, where the model can be imported so.
    #[arg(long)]
    pub open: bool,
}

/// How images become tensors: resized to what the input asks for, in the order of its dimensions, `(x/255 - mean) / std`.
#[derive(Clone, Debug, Default, Args)]
pub struct ImageArgs {
    /// Where the channels of an image go [default: where the input has 1 or 3].
    #[arg(long, value_enum, value_name = "LAYOUT", requires = "file")]
    pub layout: Option<ImageLayout>,
    /// What is taken from each channel of an image, in 0 to 1 [default: 0].
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "file")]
    pub mean: Vec<f64>,
    /// What each channel of an image is divided by after that [default: 1].
    #[arg(long, value_delimiter = ',', value_name = "LIST", requires = "file")]
    pub std: Vec<f64>,
}

/// Where the channels of an image are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImageLayout {
    /// Before height and width.
    Nchw,
    /// After them.
    Nhwc,
}
