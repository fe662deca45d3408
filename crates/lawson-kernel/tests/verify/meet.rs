//! What runs together does not meet: parallel iterations, scratch, parts of one buffer.

use super::{broken, refused, root, small};
use lawson_graph::{Code, DType, Dim, Fact, Facts, Relation};
use lawson_kernel::build::{loop_of, store};
use lawson_kernel::*;

#[test]
fn iterations_that_run_together_do_not_meet() {
    for kind in [Kind::Parallel, Kind::Jam, Kind::Vector(8)] {
        let at = |index: fn(AxisId) -> Index| {
            small(|k, _, y, i| {
                let value = k.f32(1.0);
                vec![loop_of(i, 0, 8, 1, kind, vec![store(y, vec![index(i)], value)])]
            })
        };
        verify(&at(Index::axis)).unwrap();
        verify(&at(|i| Index::constant(7) - i)).unwrap();
        refused(&at(|_| 3.into()), Code::KernelConflict, "may meet in `y`");
        refused(&at(|i| Index::axis(i).floor_div(2)), Code::KernelConflict, "may meet in `y`");
        // A neighbour's element is read.
        let shifted = small(|k, _, y, i| {
            let value = k.load(y, vec![Index::constant(7) - i]);
            vec![loop_of(i, 0, 8, 1, kind, vec![store(y, vec![i.into()], value)])]
        });
        refused(&shifted, Code::KernelConflict, "may meet in `y`");
    }
}

#[test]
fn an_index_split_over_two_dimensions_is_still_one() {
    let kernel = |modulus: i64| {
        let mut k = Kernel::new("fold", Facts::new());
        let y = k.output("y", DType::F32, &[4.into(), 3.into()]);
        let i = k.add_axis("i");
        let value = k.f32(1.0);
        let index = vec![Index::axis(i).floor_div(3), Index::axis(i).modulo(modulus)];
        k.body = vec![loop_of(i, 0, 12, 1, Kind::Parallel, vec![store(y, index, value)])];
        k
    };
    verify(&kernel(3)).unwrap();
    refused(&kernel(2), Code::KernelConflict, "may meet in `y`");
}

#[test]
fn indices_are_put_together_from_the_same_dimensions_or_not_compared() {
    // Two stores of each iteration, whose places are lists of indices by the axis.
    let kernel = |dims: &[i64], places: [fn(Index) -> Vec<Index>; 2]| {
        let mut k = Kernel::new("two", Facts::new());
        let dims: Vec<Dim> = dims.iter().map(|d| Dim::from(*d)).collect();
        let y = k.output("y", DType::F32, &dims);
        let i = k.add_axis("i");
        let value = k.f32(1.0);
        let stores = places.map(|place| store(y, place(i.into()), value));
        k.body = vec![loop_of(i, 0, 9, 1, Kind::Parallel, stores.to_vec())];
        k
    };
    fn of(i: Index, k: i64) -> [Index; 2] {
        [i.clone().floor_div(k), i.modulo(k)]
    }
    let same: fn(Index) -> Vec<Index> = |i| of(i, 3).to_vec();
    verify(&kernel(&[3, 4], [same, same])).unwrap();
    // Iteration 3 of the first and iteration 4 of the second both write [1, 0].
    let by_four: fn(Index) -> Vec<Index> = |i| of(i, 4).to_vec();
    refused(&kernel(&[3, 4], [same, by_four]), Code::KernelConflict, "may meet in `y`");
    // Iteration 2 of the first and iteration 1 of the second both write [0, 2, 0, 1].
    let first: fn(Index) -> Vec<Index> = |i| [of(i, 3), [0.into(), 1.into()]].concat();
    let last: fn(Index) -> Vec<Index> = |i| [[0.into(), 2.into()], of(i, 3)].concat();
    verify(&kernel(&[3; 4], [first, first])).unwrap();
    refused(&kernel(&[3; 4], [first, last]), Code::KernelConflict, "may meet in `y`");
}

/// Scratch is filled and read inside a loop of this kind.
fn through_scratch(kind: Kind, filled: fn(AxisId) -> Index, read: fn(AxisId) -> Index) -> Kernel {
    small(|k, x, y, i| {
        let t = k.scratch("t", DType::F32, &[8.into()], Level::L1);
        let (value, copy) = (k.load(x, vec![i.into()]), k.load(t, vec![read(i)]));
        let body = vec![store(t, vec![filled(i)], value), store(y, vec![i.into()], copy)];
        vec![loop_of(i, 0, 8, 1, kind, body)]
    })
}

#[test]
fn scratch_is_private_to_parallel_iterations_and_shared_by_others() {
    verify(&through_scratch(Kind::Parallel, |_| 0.into(), |_| 0.into())).unwrap();
    verify(&through_scratch(Kind::Jam, Index::axis, Index::axis)).unwrap();
    let one = through_scratch(Kind::Jam, |_| 0.into(), |_| 0.into());
    refused(&one, Code::KernelConflict, "may meet in `t`");
    let crossed = through_scratch(Kind::Vector(8), Index::axis, |i| Index::constant(7) - i);
    refused(&crossed, Code::KernelConflict, "may meet in `t`");
}

#[test]
fn scratch_is_written_before_it_is_read_and_inputs_never() {
    let mut swapped = through_scratch(Kind::Serial, Index::axis, Index::axis);
    root(&mut swapped).body.reverse();
    refused(&swapped, Code::KernelScratch, "nothing was stored in it before");
    let outside = small(|k, _, y, i| {
        let t = k.scratch("t", DType::F32, &[8.into()], Level::L1);
        let (value, copy) = (k.f32(1.0), k.load(t, vec![0.into()]));
        let reads = vec![store(y, vec![i.into()], copy)];
        vec![store(t, vec![0.into()], value), loop_of(i, 0, 8, 1, Kind::Parallel, reads)]
    });
    refused(&outside, Code::KernelScratch, "nothing was stored in it before");
    let input = small(|k, x, _, _| {
        let value = k.f32(1.0);
        vec![store(x, vec![0.into()], value)]
    });
    refused(&input, Code::KernelScratch, "is an input");
    let sized = broken(|k| {
        k.scratch("t", DType::F32, &["N".into()], Level::L1);
    });
    refused(&sized, Code::KernelScratch, "constant size");
}

#[test]
fn parts_of_one_buffer_are_told_apart_however_loops_are_split() {
    for facts in ["", " where N <= 64", " where N >= 100"] {
        let text = format!(
            "lawson-kernel 1 kernel @g{facts} {{ in x: i32[3, N] out y: i32[3, 2*N] axes i, j
             for i in 0 to 3 {{ for j in 0 to N {{ y[i, j] = x[i, j] y[i, j + N] = x[i, j] }} }} }}"
        );
        let mut k = Kernel::parse(&text).unwrap();
        let split = "split j 4096 clip\nparallel j.0\nsplit j.1 64 ladder 16 clip\nsplit j.1.1 16 cover\njam j.1.1.0\nvector j.1.1.1 16";
        let schedule = format!("reorder j i\n{split}");
        schedule.parse::<Schedule>().unwrap().apply(&mut k).unwrap();
        verify(&k).unwrap_or_else(|e| panic!("{e}\n{k}"));
        // One element less, and the last of the first part is the first of the second.
        let mut meets = Kernel::parse(&text.replace("j + N]", "j + N - 1]")).unwrap();
        schedule.parse::<Schedule>().unwrap().apply(&mut meets).unwrap_err();
    }
}

/// A block of 512 of `L` elements for each iteration of a parallel loop, and of what is left of it after fours one pair at most, the
/// number of pairs being the lesser of 1 and what `pairs` makes of the block's size.
fn pairs_of_blocks(pairs: fn(Index) -> Index) -> Kernel {
    let mut facts = Facts::new();
    facts.add(Fact::new("L", Relation::Ge, 1)).unwrap();
    let length = Dim::from("L");
    let mut k = Kernel::new("blocks", facts);
    let y = k.output("y", DType::F32, std::slice::from_ref(&length));
    let [block, pair, of_pair] = ["block", "pair", "of_pair"].map(|name| k.add_axis(name));
    let size = Index::constant(512).min(Index::constant(length.clone()) - block);
    let begin = size.clone().floor_div(4) * 4;
    let end = begin.clone() + Index::constant(1).min(pairs(size)) * 2;
    let value = k.f32(1.0);
    let place = Index::axis(block) + pair + of_pair;
    let inner = loop_of(of_pair, 0, 2, 1, Kind::Serial, vec![store(y, vec![place], value)]);
    let middle = loop_of(pair, begin, end, 2, Kind::Serial, vec![inner]);
    k.body = vec![loop_of(block, 0, length, 512, Kind::Parallel, vec![middle])];
    k
}

#[test]
fn pieces_of_an_open_axis_stay_in_their_blocks() {
    // What is left after fours, in twos.
    verify(&pairs_of_blocks(|size| size.clone().floor_div(2) - size.floor_div(4) * 2)).unwrap();
    // A pair after the last four, whether there is one or not: the first two elements of the next block.
    let beyond = pairs_of_blocks(|size| size.floor_div(2));
    refused(&beyond, Code::KernelConflict, "may meet in `y`");
}

#[test]
fn nests_side_by_side_write_different_elements_and_read_none_of_each_other() {
    // The second nest stores from `from` on, and reads `y` at the places of the first if `reads`.
    let kernel = |from: i64, kind: Kind, reads: bool| {
        let mut k = Kernel::new("beside", Facts::new());
        let y = k.output("y", DType::F32, &[16.into()]);
        let one = k.f32(1.0);
        let (i, j) = (k.add_axis("i"), k.add_axis("j"));
        let value = if reads { k.load(y, vec![j.into()]) } else { one };
        let first = loop_of(i, 0, 8, 1, kind, vec![store(y, vec![i.into()], one)]);
        let second = loop_of(j, 0, 8, 1, kind, vec![store(y, vec![Index::axis(j) + from], value)]);
        k.body = vec![first, second];
        k
    };
    verify(&kernel(8, Kind::Parallel, false)).unwrap();
    refused(
        &kernel(7, Kind::Parallel, false),
        Code::KernelConflict,
        "which a team shares at once, may meet in `y`",
    );
    refused(&kernel(8, Kind::Parallel, true), Code::KernelConflict, "may meet in `y`");
    // One after another they may.
    verify(&kernel(7, Kind::Serial, false)).unwrap();
    verify(&kernel(8, Kind::Serial, true)).unwrap();
}
