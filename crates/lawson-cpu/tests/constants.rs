//! Constants as kernels read them: every byte where its layout says, and which ones stay where they are.
#![allow(clippy::unwrap_used)]

use lawson_cpu::constants::Constants;
use lawson_cpu::memory::LINE;
use lawson_cpu::team::Team;
use lawson_graph::{DType, Dim, HostTensor};
use lawson_kernel::pack::Packing;
use lawson_kernel::{Layout, Slot};
use std::collections::HashSet;

/// A tensor whose bytes begin so many bytes after a line.
fn tensor(sizes: &[usize], shift: usize) -> HostTensor {
    let elements: usize = sizes.iter().product();
    let spare = vec![0u8; elements * 4 + 2 * LINE];
    let start = spare.as_ptr().addr().next_multiple_of(LINE) - spare.as_ptr().addr() + shift;
    let mut bytes = spare;
    for (i, element) in bytes[start..].chunks_exact_mut(4).take(elements).enumerate() {
        element.copy_from_slice(&(i as u32).to_le_bytes());
    }
    let whole = HostTensor::from_bytes(DType::U8, &[bytes.len()], bytes).unwrap();
    HostTensor::from_bytes(DType::F32, sizes, whole.bytes().slice(start..start + elements * 4)).unwrap()
}

fn row_major(sizes: &[usize]) -> Layout {
    Layout::row_major(&sizes.iter().map(|s| Dim::from(*s)).collect::<Vec<_>>())
}

fn columns(sizes: &[usize; 2]) -> Layout {
    Layout::panels(&sizes.map(Dim::from), 1, 16, &[0])
}

fn taken(constants: &[(HostTensor, Layout)]) -> Vec<(Slot, HostTensor, Packing)> {
    let one = |(n, (t, layout)): (usize, &(HostTensor, Layout))| {
        let packing = Packing::new(layout, t.sizes(), t.dtype()).unwrap();
        (Slot(n as u32), t.clone(), packing)
    };
    constants.iter().enumerate().map(one).collect()
}

/// Which constants stay in place.
fn in_place(constants: &[(HostTensor, Layout)]) -> Vec<bool> {
    in_place_if(constants, &[])
}

/// Which constants stay in place if single elements of some are looked up.
fn in_place_if(constants: &[(HostTensor, Layout)], looked_up: &[u32]) -> Vec<bool> {
    let looked_up: HashSet<Slot> = looked_up.iter().copied().map(Slot).collect();
    let all = Constants::new(taken(constants), &looked_up, &Team::new(1).unwrap()).unwrap();
    let slots = (0..constants.len() as u32).map(Slot);
    for (slot, (t, _)) in slots.clone().zip(constants) {
        assert_eq!(all.is_in_place(slot), all.address(slot) == Some(t.bytes().as_ptr()));
    }
    slots.map(|slot| all.is_in_place(slot)).collect()
}

#[test]
fn every_constant_lies_as_its_layout_says() {
    let constants: Vec<(HostTensor, Layout)> = [[1, 1], [700, 301], [3, 0], [5, 1000], [2000, 40]]
        .iter()
        .flat_map(|s| [(tensor(s, 4), row_major(s)), (tensor(s, 0), columns(s))])
        .collect();
    for members in [1, 2, 4] {
        let all = Constants::new(taken(&constants), &HashSet::new(), &Team::new(members).unwrap()).unwrap();
        for (n, (t, layout)) in constants.iter().enumerate() {
            let slot = Slot(n as u32);
            let expected = lawson_kernel::pack::pack(layout, t.sizes(), t.dtype(), t.bytes()).unwrap();
            assert_eq!(all.bytes(slot).unwrap(), expected, "constant {n}, {members} members");
            assert_eq!(all.address(slot).unwrap().addr() % LINE, 0);
        }
        assert!(all.address(Slot(99)).is_none() && all.bytes(Slot(99)).is_none());
    }
}

#[test]
fn constants_stay_where_they_are_if_that_costs_nothing() {
    let small = |shift| (tensor(&[10, 10], shift), row_major(&[10, 10]));
    let large = |shift| (tensor(&[600, 1000], shift), row_major(&[600, 1000]));
    assert_eq!(in_place(&[small(0), small(4)]), [true, false]);
    assert_eq!(in_place(&[large(0), large(4), large(2), small(4)]), [true, true, false, false]);
    // Less than half of all would keep the memory of all.
    let packed = (tensor(&[600, 1000], 0), columns(&[600, 1000]));
    assert_eq!(in_place(&[packed.clone(), small(0)]), [false, false]);
    assert_eq!(in_place(&[packed, large(0), small(0)]), [false, true, true]);
    assert_eq!(in_place(&[]), [] as [bool; 0]);
}

#[test]
fn large_tables_of_a_mapped_file_stay_there_if_elements_are_looked_up() {
    let sizes = [600, 1000];
    let weights = (tensor(&[2000, 1000], 0), columns(&[2000, 1000]));
    let table = (tensor(&sizes, 1).mapped(), row_major(&sizes));
    let few = (tensor(&[10, 10], 0).mapped(), row_major(&[10, 10]));
    let held = (tensor(&sizes, 0), row_major(&sizes));
    let turned = (tensor(&sizes, 0).mapped(), columns(&sizes));
    let all = [weights, table.clone(), few, held, turned];
    assert_eq!(in_place_if(&all, &[1, 2, 3, 4]), [false, true, false, false, false]);
    assert_eq!(in_place(&all), [false; 5]);
    assert_eq!(in_place_if(&[table], &[]), [false], "at an odd byte");
}
