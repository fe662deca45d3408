//! What common mistakes look like to the person who made them: the whole message, with the line and the caret.

mod scopes;

use lawson_graph::Graph;

fn check(text: &str, expected: &str) {
    let error = Graph::parse(text).expect_err("this text is wrong");
    assert_eq!(error.to_string(), expected.trim_matches('\n'), "\n{error}");
}

#[test]
fn a_text_begins_with_its_version() {
    check(
        r"graph @f() -> () { return }",
        r"
error[E0201]: expected `lawson` and a version, found `graph`
  --> <text>:1:1
  |
1 | graph @f() -> () { return }
  | ^^^^^
  help: the first line of a text is `lawson 1`
",
    );
}

#[test]
fn other_versions_are_refused() {
    check(
        r"lawson 2
graph @f() -> () { return }",
        r"
error[E0202]: this Lawson reads version 1, not `2`
  --> <text>:1:8
  |
1 | lawson 2
  |        ^
  help: the first line of a text is `lawson 1`
",
    );
}

#[test]
fn brackets_are_closed() {
    check(
        r"lawson 1
graph @f(%x: f32[N) -> () { return }",
        r"
error[E0201]: expected `,` or `]`, found `)`
  --> <text>:2:19
  |
2 | graph @f(%x: f32[N) -> () { return }
  |                   ^
",
    );
}

#[test]
fn dtypes_are_known() {
    check(
        r"lawson 1
graph @f(%x: f33[N]) -> () { return }",
        r"
error[E0113]: `f33` is not a dtype
  --> <text>:2:14
  |
2 | graph @f(%x: f33[N]) -> () { return }
  |              ^^^
  help: the dtypes are bool, u2, i2, u4, i4, u8, i8, u16, i16, u32, i32, u64, i64, f4e2m1fn, f8e4m3fn, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, f8e8m0fnu, f16, bf16, f32, f64, str
",
    );
}

#[test]
fn misspelt_values_get_a_suggestion() {
    check(
        r"lawson 1
graph @f(%weight: f32[4]) -> (y: f32[4]) {
  %y = neg %wieght
  return %y
}",
        r"
error[E0113]: there is no value `%wieght` here
  --> <text>:3:12
  |
3 |   %y = neg %wieght
  |            ^^^^^^^
  help: did you mean `%weight`?
",
    );
}

#[test]
fn misspelt_operators_get_a_suggestion() {
    check(
        r"lawson 1
graph @f(%x: f32[4]) -> (y: f32[4]) {
  %y = tahn %x
  return %y
}",
        r"
error[E0113]: there is no operator `tahn`
  --> <text>:3:8
  |
3 |   %y = tahn %x
  |        ^^^^
  help: did you mean `tan`?
",
    );
}

#[test]
fn operands_that_do_not_fit_are_pointed_at() {
    check(
        r"lawson 1
graph @f(%x: f32[4], %y: f32[5]) -> (z: f32[4]) {
  %z = add %x, %y
  return %z
}",
        r"
error[E0105]: axis 0 of operand 1 is 5, but axis 0 of operand 0 is 4
  --> operand 1 of `add`: f32[5]
  --> operand 0 of `add`: f32[4]
  --> <text>:3:16
  |
3 |   %z = add %x, %y
  |                ^^
",
    );
}

#[test]
fn a_type_that_differs_from_the_one_that_follows_is_pointed_at() {
    check(
        r"lawson 1
graph @f(%x: f32[4]) -> (z: f32[5]) {
  %z: f32[5] = neg %x
  return %z
}",
        r"
error[E0203]: written as f32[5], but `neg` yields f32[4]
  --> <text>:3:7
  |
3 |   %z: f32[5] = neg %x
  |       ^^^^^^
",
    );
}

#[test]
fn outputs_have_the_type_that_the_head_declares() {
    check(
        r"lawson 1
graph @f(%x: f32[4]) -> (z: f32[5]) {
  %z = neg %x
  return %z
}",
        r"
error[E0203]: output `z` is declared as f32[5], but this is f32[4]
  --> <text>:4:10
  |
4 |   return %z
  |          ^^
",
    );
}

#[test]
fn attributes_out_of_range_are_pointed_at() {
    check(
        r"lawson 1
graph @f(%x: f32[4]) -> (z: f32[4]) {
  %z = concat %x, %x {axis = 1}
  return %z
}",
        r"
error[E0106]: axis 1 is not in 0..1
  --> attribute `axis` of `concat`
  --> <text>:3:23
  |
3 |   %z = concat %x, %x {axis = 1}
  |                       ^^^^^^^^
",
    );
}

#[test]
fn missing_attributes_are_named() {
    check(
        r"lawson 1
graph @f(%x: f32[4]) -> (z: f32[4]) {
  %z = concat %x, %x {axes = [0]}
  return %z
}",
        r"
error[E0106]: the attribute `axis` is missing: a number from 0
  --> attribute `axis` of `concat`
  --> <text>:3:8
  |
3 |   %z = concat %x, %x {axes = [0]}
  |        ^^^^^^
",
    );
}

#[test]
fn names_are_used_once() {
    check(
        r"lawson 1
graph @f(%x: f32[4]) -> (z: f32[4]) {
  %x = neg %x
  return %x
}",
        r"
error[E0112]: there is already a value `%x`
  --> <text>:3:3
  |
3 |   %x = neg %x
  |   ^^
",
    );
}

#[test]
fn numbers_that_do_not_fit_are_pointed_at() {
    check(
        r"lawson 1
graph @f() -> (z: u8[2]) {
  %z: u8[2] = constant [1, 300]
  return %z
}",
        r"
error[E0204]: `300` does not fit in u8
  --> <text>:3:28
  |
3 |   %z: u8[2] = constant [1, 300]
  |                            ^^^
  help: u8 holds whole numbers from 0 to 255
",
    );
}

#[test]
fn constants_need_a_type() {
    check(
        r"lawson 1
graph @f() -> (z: u8[2]) {
  %z = constant [1, 3]
  return %z
}",
        r"
error[E0201]: a constant needs its type
  --> <text>:3:3
  |
3 |   %z = constant [1, 3]
  |   ^^
  help: write it after the name: `%x: f32[2] = constant [1, 2]`
",
    );
}

#[test]
fn as_many_values_are_returned_as_outputs_declared() {
    check(
        r"lawson 1
graph @f(%x: f32[N]) -> (y: f32[N]) {
  return %x, %x
}",
        r"
error[E0201]: 2 values are returned, but 1 output is declared
  --> <text>:3:3
  |
3 |   return %x, %x
  |   ^^^^^^^^^^^^^
",
    );
}

#[test]
fn texts_that_break_off_say_what_is_missing() {
    check(
        r"lawson 1
graph @f(%x: f32[N]) -> (y: f32[N]) {
  %y = neg %x
",
        r"
error[E0201]: expected a node, or `return`, found the end of the text
  --> <text>:4:1
  |
4 | 
  | ^
",
    );
}

#[test]
fn quotes_are_closed_on_their_line() {
    check(
        r#"lawson 1
graph @f(%x: f32[N]) -> (y: f32[N]) {
  host_call %x {name = "log}
  return %x
}"#,
        r#"
error[E0201]: this quote is not closed on its line
  --> <text>:3:24
  |
3 |   host_call %x {name = "log}
  |                        ^^^^^
"#,
    );
}

#[test]
fn results_are_counted() {
    check(
        r"lawson 1
graph @f(%k: f32[N]) -> (y: f32[N]) {
  %a = sort %k, %k {axis = 0}
  return %a
}",
        r"
error[E0201]: `sort` has 2 results, but 1 stands before `=`
  --> <text>:3:8
  |
3 |   %a = sort %k, %k {axis = 0}
  |        ^^^^
",
    );
}

#[test]
fn side_files_need_a_folder() {
    check(
        r#"lawson 1
weights "w.safetensors"
graph @f() -> () { return }"#,
        r#"
error[E0701]: the text names a side file, but comes from no folder
  --> <text>:2:9
  |
2 | weights "w.safetensors"
  |         ^^^^^^^^^^^^^^^
  help: read it with `read_law`, or give `ParseOptions` a folder
"#,
    );
}

#[test]
fn composites_do_not_hide_operators() {
    check(
        r"lawson 1
composite @add(%x: f32[N]) -> (y: f32[N]) { return %x }
graph @f() -> () { return }",
        r"
error[E0112]: there is already an operator `add`
  --> <text>:2:11
  |
2 | composite @add(%x: f32[N]) -> (y: f32[N]) { return %x }
  |           ^^^^
",
    );
}

#[test]
fn nothing_stands_after_the_graph() {
    check(
        r"lawson 1
graph @f() -> () { return } }",
        r"
error[E0201]: expected the end of the text after the graph, found `}`
  --> <text>:2:29
  |
2 | graph @f() -> () { return } }
  |                             ^
",
    );
}

#[test]
fn state_lives_in_an_input() {
    check(
        r"lawson 1
graph @f(%x: f32[N]) -> (s: f32[N] in %y) { %y = neg %x return %y }",
        r"
error[E0305]: output `s` lives in a value that is not an input
  --> <text>:2:26
  |
2 | graph @f(%x: f32[N]) -> (s: f32[N] in %y) { %y = neg %x return %y }
  |                          ^
",
    );
}

#[test]
fn placements_are_known() {
    check(
        r#"lawson 1
graph @f(%x: f32[N] @devise("cpu")) -> () { return }"#,
        r#"
error[E0201]: `@devise` says nothing about where a value lives
  --> <text>:2:21
  |
2 | graph @f(%x: f32[N] @devise("cpu")) -> () { return }
  |                     ^^^^^^^
  help: write `@device("cpu:0")` or `@shard("mesh", [x, _])`
"#,
    );
}

#[test]
fn reshapes_keep_the_number_of_elements() {
    check(
        r"lawson 1
graph @f(%x: f32[N]) -> (y: f32[M]) {
  %y = reshape %x {shape = [M]}
  return %y
}",
        r"
error[E0108]: [N] has N elements, [M] has M
  --> operand 0 of `reshape`: f32[N]
  --> <text>:3:16
  |
3 |   %y = reshape %x {shape = [M]}
  |                ^^
",
    );
}
