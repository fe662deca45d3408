//! The one error type of Lawson: a code, a message, the places it is about, and what to do.
//!
//! Every crate of the workspace returns this type. A code is stable and has a page (`Code::explanation`,
//! `lawson explain CODE`); a place says where (an operand, a node, a line of a file); help says what to do.
//! To add a code, add a line to the table at the end of this file.

use std::fmt;

/// What went wrong, where, and what to do about it.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    code: Code,
    message: String,
    places: Vec<Place>,
    help: Option<String>,
}

/// The result type of the whole workspace.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Where an error happened. An error lists its places from the nearest to the widest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// An operand of an operator, counted from 0, with the type that it has.
    Operand {
        /// The operator's name.
        op: String,
        /// Which operand.
        index: usize,
        /// What the operand is: its type, or its name.
        what: String,
    },
    /// An attribute of an operator.
    Attribute {
        /// The operator's name.
        op: String,
        /// The attribute's name.
        name: String,
    },
    /// A node of a graph, by the name of its first result.
    Node {
        /// The graph's name.
        graph: String,
        /// The operator's name.
        op: String,
        /// The name of the node's first result, or its number.
        result: String,
    },
    /// A named input or output of a program.
    Port {
        /// `input` or `output`.
        side: Side,
        /// The port's name.
        name: String,
    },
    /// A line of a text.
    Source(Box<Source>),
    /// A file, or an entry of one.
    File(String),
    /// A field of a message in a model file, as a path such as `graph.input[0].type`.
    Field(String),
    /// A pass of the pipeline.
    Pass(String),
    /// A directive of a schedule, counted from 1.
    Directive {
        /// Which directive.
        number: usize,
        /// The directive as text.
        text: String,
    },
    /// A part of a kernel: its loops from the root, then what it is about.
    Kernel {
        /// The kernel's name.
        kernel: String,
        /// The axes of the loops around, outermost first, and the node itself.
        path: String,
    },
    /// A step of a plan, counted from 0.
    Step {
        /// Which step.
        number: usize,
        /// What it does.
        what: String,
    },
    /// An entry of an operator list, counted from 0.
    ListEntry {
        /// Which entry.
        index: usize,
        /// The operator there.
        op: String,
    },
}

/// A side of a program's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What comes in.
    Input,
    /// What goes out.
    Output,
}

/// A stretch of one line in a source text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file's name, if the text came from a file.
    pub file: Option<String>,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// How many characters the error covers, at least 1.
    pub length: usize,
    /// The line itself.
    pub text: String,
}

impl Error {
    /// An error with a code and a message.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error(Box::new(Inner { code, message: readable(message.into()), places: Vec::new(), help: None }))
    }

    /// A bug in Lawson itself.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new(Code::Internal, message)
            .help("this is a bug in Lawson, not in your model; please report it with the graph that shows it")
    }

    /// Adds a place, wider than those already there.
    pub fn at(mut self, place: Place) -> Error {
        self.0.places.push(place);
        self
    }

    /// Says what to do. The first help given stays.
    pub fn help(mut self, help: impl Into<String>) -> Error {
        self.0.help.get_or_insert_with(|| readable(help.into()));
        self
    }

    /// The stable code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The message alone.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The places, nearest first.
    pub fn places(&self) -> &[Place] {
        &self.0.places
    }

    /// What to do, if there is something to say.
    pub fn help_text(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Whether this is a bug in Lawson rather than a mistake of the user's.
    pub fn is_internal(&self) -> bool {
        self.0.code == Code::Internal
    }
}

/// The most characters of a message, a help or a name in a place.
const MAX_MESSAGE: usize = 2000;

/// Text that a terminal can be given: names and expressions in it come from files, which may be anything. What is too
/// long loses its middle; control characters other than line ends are written as escapes.
fn readable(text: String) -> String {
    let is_odd = |c: char| (c.is_control() && c != '\n') || is_reordering(c);
    if text.len() <= MAX_MESSAGE && !text.contains(is_odd) {
        return text;
    }
    let mut out = String::with_capacity(text.len().min(MAX_MESSAGE));
    let mut put = |c: char| match is_odd(c) {
        true => out.extend(c.escape_unicode()),
        false => out.push(c),
    };
    let half = MAX_MESSAGE / 2;
    match text.char_indices().rev().nth(half - 1) {
        Some((tail, _)) if text.chars().nth(MAX_MESSAGE).is_some() => {
            text.chars().take(half).chain(['…']).chain(text[tail..].chars()).for_each(&mut put);
        }
        _ => text.chars().for_each(&mut put),
    }
    out
}

/// Whether a character changes the direction in which others are shown.
fn is_reordering(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: {}", self.0.code, self.0.message)?;
        for place in &self.0.places {
            write!(f, "\n{}", readable(place.to_string()))?;
        }
        if let Some(help) = &self.0.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Input => "input",
            Side::Output => "output",
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Operand { op, index, what } => write!(f, "  --> operand {index} of `{op}`: {what}"),
            Place::Attribute { op, name } => write!(f, "  --> attribute `{name}` of `{op}`"),
            Place::Node { graph, op, result } => {
                write!(f, "  --> node `%{result}` (`{op}`) of graph `@{graph}`")
            }
            Place::Port { side, name } => write!(f, "  --> {side} `{name}`"),
            Place::Source(source) => write!(f, "{source}"),
            Place::File(path) => write!(f, "  --> {path}"),
            Place::Field(path) => write!(f, "  --> field {path}"),
            Place::Pass(name) => write!(f, "  --> after pass `{name}`"),
            Place::Directive { number, text } => {
                write!(f, "  --> directive {number} of the schedule: `{text}`")
            }
            Place::Kernel { kernel, path } => write!(f, "  --> kernel `@{kernel}`: {path}"),
            Place::Step { number, what } => write!(f, "  --> step {number}: {what}"),
            Place::ListEntry { index, op } => write!(f, "  --> entry {index} of the list: {op}"),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.as_deref().unwrap_or("<text>");
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Show a window of long lines, so that the caret stays on the screen.
        const WINDOW: usize = 160;
        let skip = if self.column > WINDOW - 20 { self.column - WINDOW / 2 } else { 0 };
        let shown: String = self
            .text
            .chars()
            .skip(skip)
            .take(WINDOW)
            .map(|c| if c.is_control() || is_reordering(c) { ' ' } else { c })
            .collect();
        let (lead, skip) = if skip > 0 { ("…", skip - 1) } else { ("", 0) };
        let indent = " ".repeat(self.column.saturating_sub(1 + skip));
        let carets = "^".repeat(self.length.clamp(1, WINDOW));
        write!(f, "{margin} --> {file}:{}:{}\n{margin} |\n", self.line, self.column)?;
        write!(f, "{number} | {lead}{shown}\n{margin} | {indent}{carets}")
    }
}

macro_rules! codes {
    ($($number:literal $name:ident $title:literal $explanation:literal;)*) => {
        /// The stable code of an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $(#[doc = $title] $name,)* }

        impl Code {
            /// Every code, in order.
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// The code as printed, such as `E0101`.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $number,)* }
            }

            /// What it means, in one line.
            pub fn title(self) -> &'static str {
                match self { $(Code::$name => $title,)* }
            }

            /// What it means, at length, with the way out.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$name => $explanation,)* }
            }
        }
    };
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Code {
    type Err = Error;

    fn from_str(s: &str) -> Result<Code> {
        let wanted = s.trim();
        Code::ALL.iter().copied().find(|c| c.as_str().eq_ignore_ascii_case(wanted)).ok_or_else(|| {
            Error::new(Code::UnknownName, format!("`{wanted}` is not an error code"))
                .help("codes look like E0101; `lawson explain` lists them")
        })
    }
}

codes! {
    "E0101" OperandCount "wrong number of operands"
        "An operator was given more or fewer operands than it takes. The message names the operator, how many it takes and how many came.";
    "E0102" OperandKind "an operand is not the kind of value that the operator takes"
        "A tensor was expected and a sequence or an optional came, or the other way round.";
    "E0103" OperandDType "an operand has a dtype that the operator does not take"
        "Lawson never converts a dtype silently. Insert a `cast` where a conversion is meant.";
    "E0104" OperandRank "an operand has the wrong number of dimensions"
        "Use `reshape` to add or remove dimensions of size 1, or `broadcast` to place the operand's axes among those of the result.";
    "E0105" DimMismatch "two dimensions that must be equal are not, or cannot be proven equal"
        "Both places are named. Constants that differ are a mistake in the model. Symbols that differ can be made equal by using one symbol for both, or by a fact such as `N == M` in the graph's `where` clause, which is then checked when the program runs.";
    "E0106" Attribute "an attribute has a value that the operator does not allow"
        "Axes must lie in 0..rank and must not repeat, permutations must name every axis once, strides and dilations must be at least 1.";
    "E0107" OutOfBounds "a static index is outside the tensor, or cannot be proven inside"
        "Slices with static bounds are checked when the graph is built. With symbolic dimensions the bounds must follow from the facts in the `where` clause; add the missing fact (for example `N >= 4`), or use `dynamic_slice`, which clamps when it runs.";
    "E0108" ElementCount "a reshape would change the number of elements"
        "The products of the dimensions before and after must be equal for every value of the symbols.";
    "E0109" DimOverflow "a dimension expression is too large"
        "A dimension, or the number of elements of a tensor, does not fit in 63 bits, or a symbolic expression has grown past what Lawson keeps in canonical form.";
    "E0110" SubGraph "a sub-graph does not fit the operator that holds it"
        "The inputs and outputs of the body of `while`, `cond` or `scan` must have the types that the operator carries through it. The message names the position, the type expected and the type found.";
    "E0111" UnknownSymbol "a symbol is used that nothing defines"
        "A symbol comes from the shape of an input, or from a `symbol` operator that stands before its first use.";
    "E0112" DuplicateName "a name is used twice"
        "Inputs, outputs, values of one graph and symbols each need names of their own.";
    "E0113" UnknownName "a name that nothing defines"
        "The message lists what is known and, where one is near, what may have been meant.";
    "E0114" Fact "a fact contradicts another, or says nothing that Lawson can use"
        "Facts are comparisons of dimension expressions: `N >= 1`, `N % 8 == 0`, `N == 2*M`, `N <= 4096`.";
    "E0201" Syntax "the text does not follow the text form"
        "The place shows the line and the column. `docs/text-form.md` has the grammar of graphs, `docs/kernel-form.md` that of kernels and schedules.";
    "E0202" Version "the text has a version that this Lawson does not read"
        "The first line of a graph is `lawson 1`, that of a kernel `lawson-kernel 1`, that of a plan `lawson-plan 1`.";
    "E0203" TypeMismatch "the type written differs from the type that follows"
        "Types after results are optional; where they stand they are checked against what the operator yields.";
    "E0204" Literal "a literal does not fit its dtype or shape"
        "Numbers must be representable: `300` is no u8. The nesting of brackets must agree with the shape.";
    "E0301" VerifyOrder "a value is used before it is defined"
        "Nodes stand in an order in which every operand is defined before its use.";
    "E0302" VerifyReference "a graph refers to a value that does not exist"
        "An id points outside the graph's arena.";
    "E0303" VerifyOwner "a value and its definition disagree"
        "Every value has one definition, and that definition lists the value.";
    "E0304" VerifyType "a value's type is not what its operator yields"
        "The verifier runs inference again on every node.";
    "E0305" VerifyState "an output that lives in an input's buffer does not fit it"
        "State must have the same type as the input in whose buffer it lives, and no two outputs may live in one input.";
    "E0306" VerifySharding "a value's sharding does not fit its shape"
        "A sharding names at most one mesh axis per dimension, each once.";
    "E0401" InputMissing "an input was not given"
        "Every input of the program needs a tensor.";
    "E0402" InputType "an input does not have the type that the program expects"
        "The message names the input, the axis where there is one, what was expected and what came.";
    "E0403" Binding "the inputs' shapes do not fit together"
        "A symbol got two values from two inputs, or a fact of the `where` clause does not hold for them.";
    "E0404" Budget "a limit was reached"
        "Reference runs are bounded, so that no graph can hang or exhaust memory. The limits can be raised: `lawson run --max-steps`, `--max-bytes`.";
    "E0405" HostCall "a host function is missing or failed"
        "A `host_call` names a function that the program which runs the graph must provide.";
    "E0406" Participants "a collective needs more participants than this run has"
        "A program with collectives runs as several participants at once; the reference interpreter takes one set of inputs for each.";
    "E0407" Runtime "a value that only exists at run time is not usable"
        "An element of an empty sequence or the value of an absent optional was asked for.";
    "E0501" PassFailed "a pass left an invalid graph or changed a signature"
        "This is a bug in the pass that the error names. `lawson bisect` finds the first pass after which results change.";
    "E0502" UnknownPass "there is no pass of that name"
        "`lawson opt --list` prints the passes.";
    "E0601" ListEmpty "the operator list is empty"
        "A list holds at least a host-to-device transfer, one operator, and a device-to-host transfer.";
    "E0602" ListTransfer "a transfer is missing, misplaced or repeated"
        "A list begins with exactly one `HostToDevice` and ends with exactly one `DeviceToHost`.";
    "E0603" ListDims "dimensions in the list do not fit"
        "The columns of what comes in must equal the rows of the weights; the bias is one row with as many columns as the weights.";
    "E0604" ListSoftmax "softmax where it may not stand"
        "Softmax, alone or fused, is the last operator before the transfer back to the host.";
    "E0605" ListData "a tensor of the list does not hold what its shape says"
        "Rows times columns must equal the number of values, and neither may be zero.";
    "E0701" Io "a file could not be read or written"
        "The message carries the system's own reason.";
    "E0702" FileFormat "a file is not in the format that its name says"
        "Lawson reads .law (text), .onnx, .npy and .npz (NumPy), .safetensors and .json (operator lists).";
    "E0703" OutsideFolder "a model refers to a file outside its own folder"
        "Side files stand beside the model or below it. Absolute paths, `..` and links that lead out are refused.";
    "E0704" Usage "options contradict one another"
        "See `--help` of the command.";
    "E0801" ScheduleTarget "a directive names a loop or a buffer that the kernel does not have"
        "Directives name loops by their axes. `split i 8` replaces the loop over `i` by loops over `i.0` and `i.1`, which later directives name instead. The message lists the loops that there are.";
    "E0802" ScheduleRefused "a directive cannot be applied to this kernel"
        "The kernel would no longer mean the same, or a loop would be executed in a way that it cannot be. The message says what stands in the way.";
    "E0811" KernelReference "a kernel refers to something that it does not have"
        "An id points outside the kernel's axes, buffers, accumulators or expressions, an expression stands before one of its operands, or a name is used twice.";
    "E0812" KernelDType "the dtypes of a kernel's expression do not agree"
        "Operators of the kernel level take operands of one dtype, as those of graphs do; conversions are written as `cast`.";
    "E0813" KernelBounds "an element outside its buffer may be read or written"
        "Every index of a load or a store must follow from the loops around it, from the facts about parameters and from the conditions of its guard to lie in the buffer's dimensions. Add a guard to the load, correct the loop's bounds, or add the fact that is missing.";
    "E0814" KernelLayout "a layout does not give every element a place of its own"
        "The digits of each dimension must put its index together again, the strides must keep the digits apart, and the size must hold the last element.";
    "E0815" KernelAxis "an axis is used where it has no value"
        "An axis has a value inside the loops over it only; a derived axis inside the loops over all axes that it is derived from. No loop runs over a derived axis.";
    "E0816" KernelKind "a loop cannot be executed as its kind says"
        "Parallel loops form a chain at the root. Jam and unroll need as many iterations as is known beforehand, a vector loop begins at 0 and has no more iterations than lanes, and the bounds of loops inside jam and vector loops are the same for all of their iterations.";
    "E0817" KernelConflict "iterations that are executed together may get in each other's way"
        "Iterations of parallel, jam and vector loops must write different elements, and must not read what another one writes. Lawson accepts what it can prove: every such axis moves the index of a dimension by more than the axes inside it can.";
    "E0818" KernelAccumulator "an accumulator is used where it has no state"
        "Steps stand inside the `accumulate` of their accumulator, results after it; the state is known in steps and in the merge, the other state in the merge alone.";
    "E0819" KernelScratch "scratch or an input is not used as its role says"
        "Inputs are never written. Scratch has a constant size and is written before it is read, within one iteration of the parallel loops.";
    "E0821" KernelRun "a kernel did what it must not"
        "The direct evaluator of kernels found a read or write outside a buffer, a read of what nobody wrote, or iterations of a parallel loop that get in each other's way. The message names the buffer, the index and the values of the axes. Kernels that Lawson makes never do this; one written by hand may.";
    "E0822" NotLowered "a part of a graph cannot become one kernel"
        "The message says which operator or which shape of group is not supported, and why. Lower its operators apart, or leave that one to the reference interpreter.";
    "E0831" OnnxModel "the file is not a valid ONNX model"
        "The message says what is wrong and where: near which byte, in which field, or at which node.";
    "E0832" OnnxVersion "the ONNX model has a version that this Lawson does not read"
        "The format and the operator sets carry versions. ONNX's version converter changes the version of a model's operators.";
    "E0833" OnnxUnsupported "the ONNX model uses something that Lawson does not import"
        "The message lists every operator of the model that is unknown, or says which feature of a known one is missing. Shapes, axes and the like must follow from constants and from the shapes of the inputs.";
    "E0841" NotEmitted "a kernel cannot be written for a target"
        "The message says what the target lacks: a dtype, wider indices, memory for scratch. Run that kernel on another target, or change its schedule.";
    "E0842" Device "a device is missing or failed"
        "No adapter was found, or the driver refused what it was given. On Debian, `mesa-vulkan-drivers` is a driver that runs on any machine.";
    "E0843" Misplaced "a value is placed on a device that the target does not have"
        "`@device(\"cpu\")` and `@device(\"gpu\")` say where a value is computed. The CPU target has the processor alone; the wgpu target has it beside its device. All results of a node are in one place.";
    "E0851" PlanRace "two steps that nothing orders touch the same bytes"
        "Steps between two barriers run in any order, and at the same time. One of them may not write what another reads or writes. Put a barrier between them, or let them work on disjoint bytes. Atomic updates may meet each other. A race that is wanted stands in a region with a name: `unsafe \"name\" { … }`.";
    "E0852" PlanUnwritten "a step reads bytes that no step has written"
        "Whatever lies in the arena or in an output must be written before it is read, on every way that leads there: in both branches, and before a loop that may not run at all.";
    "E0853" PlanOverlap "buffers that are needed at the same time share bytes"
        "Buffers of the arena may share bytes when one is no longer read before the other is written. A step may write over what it reads only if each element is read before it is written, by the iteration that writes it.";
    "E0854" PlanRegion "a step touches bytes that its buffer does not have, or not as it may"
        "Inputs and constants are never written, rows of a buffer divide it without rest, and a step names one region for each buffer of its kernel, as large as that.";
    "E0855" PlanBarrier "a barrier orders nothing"
        "No step behind the barrier touches what a step before it wrote, or writes what one read. It costs time and can go.";
    "E0901" Internal "a bug in Lawson"
        "Something that Lawson promises itself did not hold. Please report it with the graph that shows it.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_lose_their_middle() {
        let error = Error::new(Code::Syntax, format!("begin {} end", "é".repeat(1_000_000)));
        assert!(error.message().starts_with("begin é") && error.message().ends_with("é end"));
        assert_eq!(error.message().chars().count(), MAX_MESSAGE + 1);
        let short = "é".repeat(MAX_MESSAGE);
        assert_eq!(Error::new(Code::Syntax, short.clone()).message(), short);
    }

    #[test]
    fn nothing_in_an_error_controls_the_terminal() {
        let odd = "a\u{1b}[31mb\u{202e}c";
        let error = Error::new(Code::Syntax, odd).help(odd).at(Place::File(odd.to_string()));
        let source =
            Source { file: Some(odd.to_string()), line: 1, column: 1, length: 1, text: odd.to_string() };
        let text = error.at(Place::Source(Box::new(source))).to_string();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        assert!(text.contains("a\\u{1b}[31mb\\u{202e}c"), "{text}");
    }
}
